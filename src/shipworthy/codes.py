"""Codes: every code that an error or a warning can carry, what it means and what to do.

docs/errors.md is made from it.
"""

from __future__ import annotations

CODES: dict[str, str] = {
    "agreement-inputs": (
        "agreement score was not told what to compare. Give --pairs; or --scholar and --auditor; or --gold and --trace."
    ),
    "answer-id": "A line of an answers file has no id. Give it the id of its case in the fixture.",
    "archive-ratio": (
        "An archive unpacks to more than 200 times its size, as bombs do. Give the unpacked file if it is right."
    ),
    "archive-size": "An archive holds more than is read from one file. Split it.",
    "argument": "A command got an argument that it does not take. The message says what it expected.",
    "arm-knobs": "A warning: traces of one arm carry different knobs. Give each configuration its own arm.",
    "arm-without-traces": "The arm that was named has no trace. Check --arm against the arms in the message.",
    "arms-file": (
        "The file of arms can't be read, or an arm has no name of its own. Write one TOML table [arms.NAME] an arm."
    ),
    "bar": "A bar was given a number that is none or out of range. Write a share such as 0.65.",
    "baseline-absent": "There is no baseline of that name. Bless a run first: shipworthy baseline bless NAME RUN.",
    "baseline-blank": "A baseline needs a name, who blesses it and why. Fill in what the message names.",
    "baseline-gold": "The baseline report was made with another gold set. Score its traces with this one first.",
    "baseline-report": "The baseline can't be read or is no latency report. Give the JSON that latency score writes.",
    "body-json": (
        '--body, or body in the config, is not JSON. Quote it for the shell: --body \'{"question": "{question}"}\'.'
    ),
    "body-placeholder": "A request template holds a placeholder that does not exist, or one where none may be.",
    "body-question": (
        "A request template has no {question}, so every request would be the same. Write it where it belongs."
    ),
    "bom": "A byte order mark was skipped. Harmless; save the file as UTF-8 without it to be rid of the remark.",
    "budget": "A latency budget is a number of milliseconds above 0.",
    "by-unknown": (
        "Warning: no gold item has the field that --by names, so there is no slice by it. Check its spelling."
    ),
    "ca-file": "The file of --ca-file holds no certificates. Give PEM certificates.",
    "calibrate-texts": "There is no text to measure distances of. Give texts by block id with --texts.",
    "case-about": "No term of a binding's about is near the value in its source. Add the words that the source uses.",
    "case-could-not-fail": (
        "A bound value could be swapped with another one and nobody would see it. Give the binding about."
    ),
    "case-forbidden-expected": "A forbidden statement is part of an expected resolution. Reword one of them.",
    "case-forbidden-said": (
        "A forbidden statement is what a note says that is no rival. Name the note as a rival, or reword it."
    ),
    "case-forbidden-short": (
        "A forbidden phrase is so short that reporting the other side may assert it. Write a statement."
    ),
    "case-no-evidence": "A case has no evidence. Only answers that bring their own can pass.",
    "case-no-side": (
        "The prompt speaks of a conflict, but the case does not say which side is right. Add expected_resolution."
    ),
    "case-nothing-bound": "A case binds nothing, so any answer in the evidence's words passes. Add bindings.",
    "case-own-words": "An answer in the evidence's own words does not pass the case. The message says why.",
    "case-phrase-empty": "A phrase of a case has no content word, so that nothing could assert it. Write a statement.",
    "case-resolution": "An expected resolution has only words of the prompt. Say what the evidence adds.",
    "case-source": "A binding names a source or rival that is no note of the case. Correct the id or path.",
    "case-unanswerable": "An unanswerable case binds values or expects a resolution. Remove them, or set answerable.",
    "case-value": "A bound value does not occur in its source. Write it as the source does, or correct the source.",
    "case-value-empty": "A bound value has no content word. Bind what the answer has to say.",
    "case-value-in-prompt": (
        "A bound value is in the prompt, so whoever repeats the prompt gives it. Add about, or bind something else."
    ),
    "check-filter": "--filter-failing says which questions to ask again, so something must be asked. Add --run.",
    "chunk": "A line of the chunk file has no id or no text. Both must be strings.",
    "claims-long": (
        "A warning: answers are too long to compare in full, so their distance is an upper bound. Shorten them."
    ),
    "compare-board": "A report of several suites was given where one is compared. Name the suite with --suite.",
    "compare-different": (
        "The two runs have different gold sets, gates, options or definitions. Score both alike, or give the traces."
    ),
    "compare-slip": "A --slip is not METRIC=NUMBER. Write --slip precision=0.01.",
    "config-absent": (
        "There is no shipworthy.toml and no [tool.shipworthy] here or above. Write one with `shipworthy init`."
    ),
    "config-empty": "The config names no suite. Add a table such as [suites.answers].",
    "config-key": "The config has a key that does not exist. The message says which was probably meant.",
    "config-missing": "A table of the config lacks a key that it needs. Add it.",
    "config-syntax": "The config, or a file that it names, is not TOML in UTF-8. The message has the line.",
    "config-target": "A target of the config needs exactly one of url, chat, cmd, py, replay, demo.",
    "config-type": "A key of the config has a value of the wrong kind. The message says what it takes.",
    "config-value": "A key of the config has a value that is not among those it takes. The message lists them.",
    "contradiction-rule": (
        "An added contradiction rule has an unknown table or the wrong shape. The message shows the shape."
    ),
    "controls-none": "This suite has no controls: what people did can't be made up.",
    "controls-option": (
        "Controls got a config and a gold set, gates or options beside it, and a config says itself what holds. "
        "Leave out one of the two."
    ),
    "controls-suite": "Gates or a profile were given to controls without the suite that they belong to. Add --suite.",
    "csv": "A CSV or TSV file can't be read on, usually because of an open quote. Check the line in the message.",
    "csv-header": "A CSV or TSV file has no header, or names a column twice. Write the field names on the first line.",
    "csv-ragged": "A row of a table has more or fewer cells than its header. Quote cells that hold a separator.",
    "delta-embedders": "Warning: shadow and live have distances of different embedders; they are not compared.",
    "delta-mixed": "Warning: one log holds distances of several embedders, which can't be compared.",
    "delta-uncalibrated": (
        "Warning: ΔS is lexical, and the default bars are a sentence model's; they are shown and don't block."
    ),
    "demo-bad-k": "k is out of range for the demo's retrieval. Ask for 1 to 50 blocks.",
    "demo-bad-knob": "A knob of the demo has a value of the wrong kind. The message says which kind it takes.",
    "demo-no-fts5": (
        "This Python's SQLite was built without full-text search, which the demo retrieves with. Use another Python."
    ),
    "demo-port": (
        "The demo server can't listen at that address, often because another program does. Give another --port."
    ),
    "demo-token-required": (
        "The demo server was to listen beyond this machine without a token. Give one, or bind 127.0.0.1."
    ),
    "demo-unknown-fault": "The demo has no such fault. Use one of the names in the message.",
    "demo-unknown-index": "The demo has no such index. Use live, shadow or shadow-degraded.",
    "demo-unknown-knob": "The demo has no such knob. Use one of the names in the message.",
    "directory": "A folder was given where a file is expected. Name the file.",
    "disk-full": "The disk is full; finished runs are whole and kept. Make room and go on with --resume.",
    "embedder-http": (
        "The embedding server can't be reached or refuses. Check URL, model and key, and that it is running."
    ),
    "embedder-missing": "The local embedder needs model2vec. Install it: pip install 'shipworthy[embed]'.",
    "embedder-model": "The local embedding model can't be loaded. Name the folder of a model2vec model.",
    "embedder-setting": "An embedder lacks a setting or there is none of that name. Use one of those in the message.",
    "embedding-cache": "The cache of vectors can't be opened. Name another file with --embed-cache.",
    "embedding-shape": (
        "An embedder's answer is not one vector of finite numbers a text. Look at what the server answers."
    ),
    "encoding": "A line is not UTF-8. Save the file as UTF-8; nothing is replaced silently.",
    "engine-setting": "The engine does not take that setting. Leave it out, or choose another --engine.",
    "engine-unknown": "There is no engine of that name. Use one of the names in the message.",
    "env-unset": "A ${NAME} in a header or a target is not set, or holds a line break. Export it before the run.",
    "environment": (
        "The operating system refused something that the program needs, and the message has its words. "
        "Check the disk, the rights and the limits."
    ),
    "evaluate-arguments": (
        "evaluate() was not told what to score. Give a suite and its inputs by name, or gold and traces."
    ),
    "evidence-empty": (
        "The evidence file of a chat target has no evidence in it. Write {qid, evidence: [{id, text}]} lines."
    ),
    "explain-unknown": (
        "explain knows no metric, error code or question of that name. For a question, name its report with --report."
    ),
    "files-swapped": "A gold file was given as traces, or the other way round. Swap --gold and --trace.",
    "fixture-duplicate-id": "Two cases of a reasoning fixture have the same id. Give every case an id of its own.",
    "fixture-field": (
        "A field of a reasoning fixture has the wrong type or range. The message names the case and the field."
    ),
    "fixture-negative-weight": "A dimension weight is negative. Give weights of 0 or more that sum to 1.",
    "fixture-no-cases": "A reasoning fixture has no cases. Add a non-empty list named cases (or prompts).",
    "fixture-not-json": "A reasoning fixture is not JSON. Check it with a JSON linter.",
    "fixture-unknown-dimension": "A name is none of the four reasoning dimensions. Use one of those in the message.",
    "fixture-unreadable": "The reasoning fixture can't be opened. Check the path and the permission.",
    "fixture-weights-sum": (
        "The dimension weights don't sum to exactly 1, as they are written. Change them so that they do."
    ),
    "foreign-rows": "The file holds rows of another tool. Read it with `shipworthy import FILE`.",
    "gate-bound": "The bound of a gate is not a number. Write 0.80, or baseline - 0.02.",
    "gate-direction": "A gate points the wrong way for its metric. Write it the way that the message shows.",
    "gate-none": "No gate is left to decide by. Name one with --gates, or leave out --only-gates.",
    "gate-policy": "A severity was given to a gate that the suite does not have. Write the metric's own name.",
    "gate-range": "The bound of a gate lies outside the metric's range. A rate is a fraction: 0.80 for 80 %.",
    "gate-rcr": "A warning: the bar of rcr was set on refusal_rate, because rcr passes a pipeline that always answers.",
    "gate-repeated": "A gate is named twice, and one of the two would be ignored. Keep one of them.",
    "gate-syntax": "A gate can't be read. Write name=value, such as precision=0.80, or precision[type=table]>=0.75.",
    "gate-unknown": "A gate names a metric that the suite does not have. The message suggests the nearest one.",
    "gold-answerable": "A gold item does not say whether it is answerable. Add true or false.",
    "gold-blank": (
        "A gold item expects a blank text, which every answer or none would meet. Write the text, or remove it."
    ),
    "gold-cited-refusal": "An unanswerable item has citations or substrings. Decide which is meant.",
    "gold-duplicate": "Two gold items ask the same. Keep one.",
    "gold-echo": (
        "A gold substring stands in the question, so that repeating the question passes. Choose one that only "
        "the answer has."
    ),
    "gold-empty": "The gold set has no item to judge by, and nothing is never a pass. Write at least one question.",
    "gold-fields": (
        "No record of the gold file has the required fields. The message lists those found and how to map them."
    ),
    "gold-keys": (
        "A warning: gold items have keys that no suite reads. Check their spelling; fields of your own are fine."
    ),
    "gold-near-duplicate": "Two gold items ask nearly the same. Keep one, or make the difference plain.",
    "gold-negative": "An id is relevant and a hard negative at once. Remove it from one of the lists.",
    "gold-no-question": "A gold item has neither a question nor paraphrases, so nothing can be asked. Give it one.",
    "gold-no-refusals": (
        "The gold set has no unanswerable item, so nothing shows that the pipeline can refuse. Add some."
    ),
    "gold-no-substr": (
        "gold_claim_substr is absent on an answerable item, so no claim can be right. Add a substring, or an "
        "empty list."
    ),
    "gold-paraphrase": "A paraphrase repeats the question or another paraphrase. Reword or remove it.",
    "gold-placeless": (
        "Warning: relevant blocks have no byte range or text, which the chosen --match needs. They are left out."
    ),
    "gold-number": "A gold item with match number expects a text without a number. Write the number and its unit.",
    "gold-regex": "A gold item with match regex has an expression that does not compile. The message says where.",
    "gold-repeated": "Two gold items have the same qid, or one has none. Give each question its own.",
    "gold-size": (
        "The gold set is too small to prove a gate, however good the run. The message says how many items are missing."
    ),
    "gold-token": "A gold substring is part of the refusal token. Choose another.",
    "gold-tolerance": 'The tolerance of a gold item is neither a number nor a percentage. Write 0.5 or "5%".',
    "gold-uncited": (
        "An answerable item has no gold citations, so citations can't be judged on it. Add an id, or set "
        "answerable to false."
    ),
    "gold-unknown-id": "A gold item names an id that the chunk file does not have. Correct the id, or the chunk file.",
    "gold-vacuous": "gold_claim_substr is empty on an answerable item, so every claim is right. Add a substring.",
    "header": "A header has a name or value that can't be sent. Write NAME=VALUE without line breaks.",
    "history-absent": "There is no history yet. `shipworthy check` records runs.",
    "history-corrupt": (
        "The history file is damaged and is left as it is. Move it away to begin a new one, or restore it."
    ),
    "history-export": "A line of an exported history has no report. Give the file that `history export` wrote.",
    "history-keep": "prune must keep at least one run.",
    "history-locked": (
        "Another program is writing the history. Try again; `check` keeps the run beside it and records it later."
    ),
    "history-newer": "The history was written by a newer program. Update shipworthy; nothing was changed.",
    "history-no-metric": "No recorded run has that metric. The message lists those that there are.",
    "history-no-run": "There is no such run. `shipworthy history list` shows them.",
    "history-not-report": "What was to be recorded is not a report of one suite. Give the JSON that --json wrote.",
    "history-unusable": "The history can't be opened, read or written. Check the path, the server and the rights.",
    "history-url": "The history is neither a file nor a postgresql:// URL.",
    "http-method": "--method is not an HTTP method. Write GET or POST.",
    "id-map-conflict": "An --id-map file maps one trace id to two gold ids. Keep one line for each trace id.",
    "id-map-row": "A line of an --id-map file is not a pair of ids. Write a JSON object or two columns.",
    "id-map-unknown": "--id-map names a step that does not exist. Use one of the names in the message.",
    "id-map-unreadable": "The --id-map file can't be opened or is not UTF-8. Check path and encoding.",
    "id-map-value": "drop-prefix needs a value (drop-prefix=docs/), and the other --id-map steps take none.",
    "ids-hardly-match": (
        "Warning: gold ids hardly turn up in the log. After a re-chunking judge by place: --match offsets or text."
    ),
    "import-cycle": "The parents of an exported span form a circle. The export is damaged: write it again.",
    "import-duplicate": "Two different spans of an import have one id. Give each export once.",
    "import-empty": "A file to import has no record in it, or no file was named. Export it again.",
    "import-format": (
        "A file to import is not recognised, or is known not to hold runs. The message says what it looks "
        "like; choose with --from, or name the columns with --map."
    ),
    "import-formula": "A cell of a table holds a spreadsheet formula instead of its value. Export the values.",
    "import-map": (
        "A --map names no field, or a column that is not there. Write --map claim=COLUMN; the message lists both."
    ),
    "import-mixed": "A file to import, or the files together, hold several formats. Import each by itself.",
    "import-multi-turn": (
        "An export holds conversations of several turns, of which none is the question. Export single turns."
    ),
    "import-no-content": (
        "An export was recognised, but has neither answers nor rankings. The message says what to switch on "
        "or to export."
    ),
    "import-no-runs": "The files hold scores, a corpus or judgements, but no run. Give the file with the runs too.",
    "import-number": "A ranking or a judgement has a score that is no number. Check the columns of the file.",
    "import-repr": (
        "A cell of a table holds a Python or NumPy repr that can't be read back. Write JSON Lines or Parquet."
    ),
    "import-too-large": "One JSON value of an export is larger than is read at once. Export JSON Lines or an array.",
    "import-version": (
        "An export is of a version that is not known. Add --from to read it all the same, and check the coverage."
    ),
    "index-mixed": (
        "Warning: one log holds several values of index_hash; perhaps two indexes were logged into one file."
    ),
    "index-same": "Warning: shadow and live have the same index_hash; perhaps this is the same index twice.",
    "init-exists": "init would overwrite a file. Give --force to replace it, or remove it first.",
    "init-response": (
        "The URL that init was given did not answer with something that can be mapped. The message says what came."
    ),
    "input-missing": "A suite lacks a file that it can't judge without. Give it by the flag or key in the message.",
    "input-unknown": "A suite was given an input that it does not read. The message lists those that it does.",
    "internal": (
        "A fault of shipworthy itself, or of code that it called. In a check the other suites' verdicts stand; "
        "elsewhere there is no verdict. Please report it."
    ),
    "jitter-unknown": "There is no jitter or profile of that name. Use one of the names in the message.",
    "journal-damaged": "A line in the middle of a journal is not a trace: something else changed the file. Start anew.",
    "journal-exists": (
        "The file holds finished runs. Go on with --resume, drop them with --overwrite, or write elsewhere."
    ),
    "journal-foreign": "The file is not a journal of this version and is left alone. Give another --out.",
    "journal-locked": "Another process is writing the journal; the message names it. Wait, or give another --out.",
    "journal-mismatch": (
        "The journal was begun with another gold set, grid or target, so a resume would mix two sweeps. Write "
        "elsewhere."
    ),
    "json": "A line is not one JSON object, strictly read. The message has the column; write one object a line.",
    "k-range": "k must be at least 1. Write --k 5 or --k 1,3,5,10.",
    "label": "A validator's label is none of VALID, NOT_IN_CONTEXT, REJECT, ABSTAIN (INVALID reads as REJECT).",
    "label-alike": "Warning: two labels differ in case or white space alone, and count as two. Spell them alike.",
    "labels": "--labels names a label twice, a blank one or one alone. Write each label once, in order, such as 1,2,3.",
    "latency-number": (
        "A latency, cost or load is negative or not finite. Write milliseconds, dollars, requests per second."
    ),
    "limit": "A limit of a run is a number over 0; NaN and infinity are none.",
    "line-too-long": "A line has more than 10 MB. Split the record, or leave out what is not scored.",
    "load": "A load is a number of requests per second, more than 0.",
    "lock-absent": "There is no lock beside the gold set. Write one with `shipworthy gold freeze`.",
    "lock-blank": "A lock needs a release and a name. Give --release and --signed-off-by.",
    "lock-damaged": "The gold lock can't be read or was edited. Restore it, or freeze the gold set again.",
    "lock-link": "A lock is a symbolic link, and locks are not written through links. Remove the link.",
    "lock-version": "The gold lock is of another version. Use the program that wrote it, or freeze again.",
    "log-empty": "No line of a log is about a question of the gold set. Check that the two belong together.",
    "log-no-question": "A log does not say what was asked. Its lines need q, query or question.",
    "log-repeated": "Warning: several log lines have one qid, paraphrase and seed; the last counts.",
    "map-field": (
        "--map or [map] names a field that gold items and traces don't have. The message names the nearest one."
    ),
    "map-nothing": (
        "A mapped path or pattern matches nothing in any record or response. The message lists the fields that came."
    ),
    "map-path": (
        "A --map path can't be read, or the mapping has no claim. Write claim=data.answer.text, citations=docs[*].id."
    ),
    "map-pattern": "A pattern in a mapping is not a regular expression that compiles. Check its brackets.",
    "map-value": "A mapped value, or a cell of a table, is not what its field takes. The message says what was found.",
    "metric-definition": "A table [metrics.NAME] does not define a metric. The message says what would be right.",
    "metric-failed": "The function of a metric raised an error for an item. Mend it, or have it give None.",
    "metric-labels": "Two labels of one question can't be told apart. Give the score of each labelled answer.",
    "metric-py": "The function of a metric can't be loaded. Check module and name; it is looked for beside the config.",
    "metric-unstable": "A metric gave two values for the same item. Take clock, chance and models out of the function.",
    "metric-value": "A metric got a value that it can't judge: a text without equals, a number out of its limits.",
    "mode": "--mode is run or score.",
    "needs-extra": "A feature needs a package that is not installed. The message has the command that installs it.",
    "no-file": "There is no such file. Check the path.",
    "no-match": "A glob or a folder has no file to read. Check the pattern, and quote it for the shell.",
    "nonfinite": "NaN, Infinity or a number out of range stands in a line. Write null, or leave the field out.",
    "not-list": "A .json file holds one object where a list of records was expected. Save the list by itself.",
    "not-object": "A line holds JSON that is not an object. Write one object a line.",
    "nul": "A line has NUL bytes, as a crash or a full disk leaves them. Write the file again.",
    "option-unknown": "A suite was given an option that it does not have. The message says which was probably meant.",
    "option-value": "An option has a value that it can't take. The message says what to write.",
    "outcome-date": "The timestamp of an outcome is not ISO-8601. Write 2025-03-11T09:30:00Z.",
    "outcome-field": "A field of an outcome has the wrong type. The message names it.",
    "outcome-flag": "A yes-or-no field of an outcome is neither. Write true or false (or 1/0, yes/no, y/n).",
    "outcome-missing": (
        "An outcome lacks a required field. Add timestamp, prompt_id, accepted_without_edits and action_taken."
    ),
    "pair-repeated": "An answer was labelled twice in one file. Keep one line for each qid.",
    "pair-unanswered": "A warning: pairs came without answers, so citations could not be looked at. Add --trace.",
    "pairs-none": "There is no pair of labels to compare. Check the file.",
    "parquet": "A file is not readable as Parquet. Write it again, or give JSON lines.",
    "plan-grid": "Seeds or jitters are empty or repeated, or paraphrases are asked for twice. Name each value once.",
    "qid-number": (
        "A qid is a number; it was read as its decimal string. Harmless; write it as a string to be rid of the remark."
    ),
    "qrels-empty": "The qrels have no judgement. Write lines of: qid iteration docno relevance.",
    "qrels-line": (
        "A line of the qrels lacks a column or its relevance is no integer. Write: qid iteration docno relevance."
    ),
    "qrels-repeated": "The qrels grade one document twice for a query, differently. Keep one of the lines.",
    "raters-apart": "No item was rated by two raters, so nobody can agree. Check that all raters name the items alike.",
    "raters-one": "All ratings are by one rater, and agreement takes two. Add the ratings of another.",
    "rating-label": "A rating has a label that --labels does not name. Correct it, or add it there.",
    "rating-repeated": "A rater rated one item twice. Keep one of the two lines that the message names.",
    "ratings-none": "There is no rating to compare. Write one a line: qid, rater, label.",
    "reason-binary": "What --binary says can't be read as a command. Close its quotation, or escape the quote.",
    "reason-binary-missing": (
        "The program given with --binary does not exist. Give an executable file or a command on the PATH."
    ),
    "reason-callable": (
        "The callable given with --python can't be imported. Write module:function, importable from here."
    ),
    "reason-target": "reason run needs exactly one reasoner. Give one of --binary, --url, --python.",
    "reason-url": "The address given with --url is none. Start it with http:// or https://.",
    "receipt-call": "The report does not say what it was made from. Score again, and keep its `run` block.",
    "receipt-input": "An input of the report is not where it was. Name it with --gold, --trace or --input NAME=FILE.",
    "receipt-suite": "The report is of a suite that can't be computed again from files.",
    "receipt-trust": (
        "The report names an embedding server, a cache or a function of its own, and a report is only data. "
        "Add --trust if it is yours."
    ),
    "refusal-phrase-invalid": "A declared refusal phrase has no letters or is too long. Shorten it.",
    "refusal-phrases-empty": "A file of refusal phrases has no phrase in it. Write one wording a line.",
    "refusal-phrases-unreadable": "A file of refusal phrases can't be read as UTF-8. Check the path.",
    "refusal-rule-unknown": "The refusal rule is none of exact, natural, phrases. Use one of these.",
    "repeated-key": "A key stands twice in one object, and readers would disagree about which counts. Keep one.",
    "replay-empty": "The trace file to be replayed has no trace in it.",
    "report-disagrees": (
        "The summary of a reasoning report is not what its results add up to. Run the evaluation again."
    ),
    "report-edited": "The report was changed after it was written: its digest is not that of its content. Score again.",
    "report-format": (
        "There is no such report format. Use .html, .json, .md, .tsv, .txt or .xml as the ending of an -o file."
    ),
    "report-invalid": "The file is not a report. Give the JSON that --json or -o FILE.json wrote.",
    "report-unreadable": (
        "A reasoning report can't be opened, is not JSON or lacks its summary or results. Give the file that "
        "reason run wrote."
    ),
    "reranker-differs": (
        "Warning: shadow and live were made with different rerankers, so that more than the index differs."
    ),
    "reranker-mixed": "Warning: one log was made with several rerankers.",
    "retrieval-duplicate": "A list names a block twice. Remove it, or choose --duplicates first or occupy_slot.",
    "retrieval-inputs": (
        "The files or addresses of a retrieval verb don't fit together. Give --gold with --shadow, or --qrels "
        "with --run."
    ),
    "retrieval-metric": (
        "--metrics names something that is not a ranking metric, or lacks its depth. Write P@5,R@10,nDCG@10,MRR,MAP."
    ),
    "retrieval-missing": (
        "A question has no log line or no list. Run it, or choose with --missing-query what it counts as."
    ),
    "retrieval-no-offsets": (
        "--match offsets needs byte ranges in the gold set and in the log. Add them, or use --match ids."
    ),
    "retrieval-no-relevant": (
        "A question has no relevant block. Add one, or choose with --no-relevant what it counts as."
    ),
    "retrieval-no-score": "Ranks by score were asked for and a block has none. Log scores, or use --order list.",
    "retrieval-option": (
        "A named option of the retrieval suite has a value that it can't have. Use one of those in the message."
    ),
    "row-too-long": "A row of a Parquet file is larger than a line may be. Split it, or leave out what is not scored.",
    "run-all-failed": "No run of the plan succeeded. Mend what the first error says, then run again with --overwrite.",
    "run-filter": "The report that --filter-failing names is of another gold set. Give the gold set it was made with.",
    "run-line": "A line of the run lacks a column or its score is no number. Write: qid Q0 docno rank score tag.",
    "run-no-out": "`run` was not told where to write. Add --out FILE.jsonl.",
    "run-no-target": "A verb that asks a system needs one. Give --http URL or --target.",
    "run-repeated": "A warning: several lines stand for the same run; the last one counts.",
    "run-score": "A score of the run is not finite. Write a finite number.",
    "scores-negative": "Warning: scores are negative and rise along the list. They may be distances.",
    "scores-order": (
        "Warning: scores rise along a list whose order counts. Choose --order score if the scores are right."
    ),
    "section-unknown": (
        "Warning: retrieved blocks whose section is neither given nor readable from their id. Log section_id, "
        "or give --sections."
    ),
    "sections-row": "A line of --sections is not a pair of strings. Write an id and a section_id.",
    "stability-arms": (
        "The runs are of several arms, which differ for another reason than instability. Choose one with --arm."
    ),
    "suite-unknown": "There is no such suite, or the config does not have it. The message lists those that there are.",
    "summary": (
        "A warning: the file of $GITHUB_STEP_SUMMARY can't be written. The verdict stands; check the path or "
        "unset the variable."
    ),
    "sweep-mixed": (
        "A warning: the file has lines of other sweeps, which were left out. Choose with --sweep, or mix with all."
    ),
    "sweep-unknown": "The file has no line of the sweep that was named. Use an id from the message.",
    "target": "The target can't be understood, found or imported. The message says how targets are written.",
    "target-address": (
        "The target's URL is not asked: not http(s), link-local or metadata, with a password, or in disguise."
    ),
    "target-unreachable": "The target did not answer, or stopped answering. Start it, then go on with --resume.",
    "too-deep": "A line is nested too deep to be read. Leave out the deep part if it is not scored.",
    "trace-fields": (
        "No record of the trace file has an answer. The message lists the fields found and how to map them."
    ),
    "trace-none": "There is no trace to judge. Check the file, --sweep and the qids.",
    "trace-repeated": (
        "A question has several traces and --on-duplicate is error. Keep one, or choose last, first or worst."
    ),
    "trace-unknown": "A trace is for a question that the gold set does not have. Add the question, or drop --closed.",
    "trec-space": (
        "An id has white space in it, which separates columns in a TREC file. Rename it, or keep to JSON lines."
    ),
    "truncated": "A line is cut off, as a killed writer leaves it. Finish the line, or remove it.",
    "type": (
        "A field has the wrong type, or a value that it can't have. The message names the field, what was "
        "found and what was expected."
    ),
    "unknown-key": "A key looks like a misspelt one that the score hangs on. Rename it as the message says.",
    "unreadable": "A file can't be opened or read to its end. Check its rights, and whether it is complete.",
    "unwritable": "A file can't be written. Check the path, the rights and the room; what was there is untouched.",
    "waiver-unknown": "A waiver names a gate that no suite has. The message says which was probably meant.",
    "weights-order": "Weights need labels with an order, and strings have none. Name them in order with --labels.",
    "worker-died": (
        "Worker processes died twice at the same part of the input, most often for lack of memory. Use fewer: --jobs."
    ),
    "write-failed": "A file can't be written. Check the path and its permissions.",
}
