"""Codes: every code that an error or a warning can carry, what it means and what to do.

docs/errors.md is made from it.
"""

from __future__ import annotations

CODES: dict[str, str] = {
    "aa-different": "The two runs were not judged alike. Score both with the same gold set, gates and options.",
    "aa-suite": "A report is a board of several suites. Name one with --suite.",
    "address-secret": "An address has a password, and reports name their inputs. Leave it out of the address.",
    "agreement-inputs": (
        "agreement score needs labels to compare. Give --pairs; or --scholar and --auditor; or --gold and --trace."
    ),
    "anchor-file": "Places are written to gold sets in JSON lines. Use a .jsonl file.",
    "answer-id": "A line of an answers file has no id. Give it the id of its case in the fixture.",
    "answer-repeated": "An answers file, or a reasoning report, has two lines for one case. Keep one of them.",
    "archive-ratio": (
        "An archive unpacks to more than 200 times its size, like a decompression bomb. Unpack it yourself if you "
        "trust it."
    ),
    "archive-size": "An archive is larger than the limit for one file. Split it.",
    "argument": "A command got an unexpected argument. The message says what it expected.",
    "arm-knobs": "Warning: traces of one arm have different knobs. Give each configuration its own arm.",
    "arm-without-traces": "The arm has no traces. Check --arm against the arms in the message.",
    "arms-file": (
        "The file of arms can't be read, or an arm has no unique name. Write one TOML table [arms.NAME] per arm."
    ),
    "assistant": "What an assistant asked for is not there, such as a config or a gold set. The message names it.",
    "assistant-outside": "An assistant may only read files of the project. The message names the path outside of it.",
    "assistant-run": "An assistant may not run the pipeline or code. Start `shipworthy mcp` with --allow-run.",
    "bar": "A threshold got a value that is not a number, or is out of range. Write a share such as 0.65.",
    "baseline-absent": (
        "There is no such baseline. Save one as a file (shipworthy baseline save), or create it from a recorded run: "
        "shipworthy baseline bless NAME RUN."
    ),
    "baseline-blank": "A baseline needs a name, an author and a reason. Fill in what the message names.",
    "baseline-different": (
        "A run could not be compared with the baseline: it has another gold set, other options or definitions, or "
        "lacks a suite. Nothing was sent. Make a new baseline, or undo the change."
    ),
    "baseline-gold": "The baseline report was made with another gold set. Score its traces with this one first.",
    "baseline-incomplete": "A run that could not be judged is no baseline. Make it complete: shipworthy check --run.",
    "baseline-report": (
        "The baseline can't be read, or is not a latency report. Give the JSON that latency score writes."
    ),
    "body-json": (
        '--body, or body in the config, is not JSON. Quote it for the shell: --body \'{"question": "{question}"}\'.'
    ),
    "body-placeholder": (
        "A request template has a placeholder that does not exist, or one in the wrong place. The message lists them."
    ),
    "body-question": "A request template has no {question}, so every request would be the same. Add {question} to it.",
    "bom": "A byte order mark was skipped. This is harmless; save the file as UTF-8 without it to avoid the warning.",
    "budget": "A latency budget is a number of milliseconds above 0.",
    "by-unknown": "Warning: no gold question has the field that --by names. Check its spelling.",
    "ca-file": "The file of --ca-file has no certificates. Give PEM certificates.",
    "calibrate-texts": "There are no texts to measure distances with. Give texts by block id with --texts.",
    "case-could-not-fail": (
        "A case binds nothing, or a bound value could change places with another one unseen. Bind it and give it about."
    ),
    "case-no-evidence": "A case has no evidence. Only answers that bring their own can pass.",
    "case-own-words": "An answer in the evidence's own words does not pass the case. The message says why.",
    "case-resolution": "An expected resolution can't be found in any answer, or is forbidden too. Reword one of them.",
    "case-resolution-shown": "A missing resolution is only shown. Require contradiction_handling to fail it.",
    "case-source": "A binding names a source or rival that is no note of the case. Correct the id or path.",
    "case-unanswerable": "An unanswerable case binds values or expects a resolution. Remove them, or set answerable.",
    "case-value": "A bound value does not occur in its source. Write it as the source does, or correct the source.",
    "check-filter": "--filter-failing repeats the questions that failed, so it needs --run. Add --run.",
    "check-repeat": "--repeat compares whole runs: it needs --run and all questions. Add --run; drop --filter-failing.",
    "chunk": "A line of the chunk file has no id or no text. Both must be strings.",
    "claims-long": (
        "Warning: answers are too long to compare in full, so their difference is an upper bound. Shorten them."
    ),
    "cluster-differs": (
        "Workers of the cluster lack shipworthy, or have another release or other Unicode tables. Use the same on all."
    ),
    "compare-board": "A report of several suites was given, but only one can be compared. Name it with --suite.",
    "compare-different": (
        "The two runs have different gold sets, gates, options or definitions. Score both the same way."
    ),
    "compare-slip": "A --slip is not METRIC=NUMBER. Write --slip precision=0.01.",
    "config-absent": (
        "There is no shipworthy.toml and no [tool.shipworthy] here or above. Write one with `shipworthy init`."
    ),
    "config-empty": "The config names no suite. Add a table such as [suites.answers].",
    "config-key": "The config has an unknown key. The message suggests the nearest known one.",
    "config-missing": "A table of the config lacks a required key. Add it.",
    "config-syntax": "The config, or a file that it names, is not valid TOML in UTF-8. The message has the line.",
    "config-target": "A target of the config needs exactly one of url, chat, cmd, py, replay, demo.",
    "config-type": "A key of the config has a value of the wrong type. The message says what is expected.",
    "config-value": "A key of the config has a value that is not allowed. The message lists the allowed values.",
    "contradiction-rule": (
        "An added contradiction rule has an unknown table or the wrong shape. The message shows the shape."
    ),
    "controls-none": "This suite has no controls: there are no synthetic runs for what people did.",
    "controls-option": "Controls got a config together with a gold set, gates or options. Use one or the other.",
    "controls-suite": "Gates or a profile were given to controls without a suite. Add --suite.",
    "coverage-gate": "gold coverage has the gates coverage and coverage[new], which are shares of sections.",
    "coverage-since": (
        "git does not know the commit of --since. Check its name, and that the documents are in a repository."
    ),
    "csv": "A CSV or TSV file can't be parsed, usually because of an unclosed quote. Check the line in the message.",
    "csv-header": "A CSV or TSV file has no header, or a column name twice. Write the field names on the first line.",
    "csv-ragged": "A row of a table has more or fewer cells than its header. Quote cells that contain a separator.",
    "delta-embedders": "Warning: shadow and live have distances of different embedders; they are not compared.",
    "delta-mixed": "Warning: one log has distances of several embedders, which can't be compared.",
    "delta-uncalibrated": (
        "Warning: semantic distance (ΔS) is lexical, and the default thresholds are for a sentence model. They do "
        "not block."
    ),
    "demo-bad-k": "k is out of range for the demo's retrieval. Use 1 to 50.",
    "demo-bad-knob": "A knob of the demo has a value of the wrong kind. The message says which kind it takes.",
    "demo-no-fts5": (
        "This Python's SQLite was built without full-text search, which the demo retrieves with. Use another Python."
    ),
    "demo-port": "The demo server can't listen at that address, often because the port is in use. Give another --port.",
    "demo-token-required": "The demo server needs a token to listen beyond this machine. Give one, or bind 127.0.0.1.",
    "demo-unknown-fault": "The demo has no such fault. Use one of the names in the message.",
    "demo-unknown-index": "The demo has no such index. Use live, shadow or shadow-degraded.",
    "demo-unknown-knob": "The demo has no such knob. Use one of the names in the message.",
    "directory": "A folder was given where a file was expected. Name the file.",
    "disk-full": "The disk is full. Finished runs are kept: free some space and continue with --resume.",
    "docs-absent": "The folder or file of documents is not there. Check --docs.",
    "docs-empty": "No document could be read. The message says which files were left out and why.",
    "draft-line": (
        "A line of a draft is not JSON, or has no qid of its own. Write drafts with gold build, or correct the line."
    ),
    "embedder-http": (
        "The embedding server can't be reached, or refuses. Check the URL, model and key, and that it is running."
    ),
    "embedder-missing": "The local embedder needs model2vec. Install it: pip install 'shipworthy[embed]'.",
    "embedder-model": "The local embedding model can't be loaded. Name the folder of a model2vec model.",
    "embedder-setting": "An embedder is unknown, or lacks a setting. The message lists the embedders.",
    "embedding-cache": "The cache of vectors can't be opened. Name another file with --embed-cache.",
    "embedding-shape": (
        "An embedder did not return one vector of finite numbers per text. Check what the server returns."
    ),
    "encoding": "A line is not UTF-8. Save the file as UTF-8; nothing is replaced silently.",
    "engine-setting": "The engine does not take that setting. Leave it out, or choose another --engine.",
    "engine-unknown": "No engine has that name. Use one of the names in the message.",
    "env-unset": "A ${NAME} in a header or a target is not set, or contains a line break. Export it before the run.",
    "gold-draft-exists": "The draft is there already, and may be under review. Choose another --out, or add --force.",
    "gold-reviewed": "Information: how many questions of the gold set a person has decided about.",
    "gold-sources": "gold build reads documents or traces. Give --docs or --traces.",
    "input-changed": "A large file was changed while it was read. Score it again when nothing writes to it.",
    "match-citations": "Citations can be matched by place only where the documents are known. Give --docs.",
    "memory-limit": "The limit is no size, or too small to work in. Write --memory-limit 128MB or 2GB.",
    "next-empty": "No trace has a question and an answer, so there is nothing to label. Say where they are with --map.",
    "next-gates": "gold next decides gates on rates of questions, such as under_refusal=0.05.",
    "review-out": "A review is written line by line. Let --out end in .jsonl.",
    "review-port": "The review page can't listen at that port. Give another --port.",
    "spill-disk": "What does not fit in memory can't be put on disk. Free some space, or set TMPDIR to another folder.",
    "environment": (
        "The operating system refused an operation; the message quotes it. Check disk, permissions and limits."
    ),
    "evaluate-arguments": (
        "evaluate() was not told what to score. Pass a suite and its inputs by name, or gold and traces."
    ),
    "evidence-empty": "The evidence file of a chat target is empty. Write {qid, evidence: [{id, text}]} lines.",
    "explain-unknown": (
        "explain knows no metric, error code or question of that name. For a question, name its report with --report."
    ),
    "files-swapped": "A gold file was given as traces, or the other way round. Swap --gold and --trace.",
    "fixture-field": (
        "A field of a reasoning fixture is missing or has a wrong value. The message names the case and the field."
    ),
    "fixture-not-json": "A reasoning fixture is not JSON. Check it with a JSON linter.",
    "fixture-unreadable": "The reasoning fixture can't be opened. Check the path and permissions.",
    "foreign-rows": "The file was written by another tool. Read it with `shipworthy import FILE`.",
    "frame": (
        "A DataFrame or another table can't be read: two columns of one name, an infinite number, a lazy frame, a "
        "value that has no place in a record. The message names the column."
    ),
    "gate-bound": "The bound of a gate is not a number. Write 0.80, or baseline - 0.02.",
    "gate-direction": "A gate points the wrong way for its metric. The message shows how to write it.",
    "gate-none": "No gate is left to decide by. Name one with --gates, or leave out --only-gates.",
    "gate-policy": "A severity was set for a gate that the suite does not have. Use the metric's own name.",
    "gate-range": "The bound of a gate lies outside the metric's range. A rate is a fraction: 0.80 for 80 %.",
    "gate-rcr": (
        "Warning: the threshold of rcr was applied to refusal_rate; rcr would pass a pipeline that always answers."
    ),
    "gate-repeated": "A gate is set twice, and one of the two would be ignored. Keep one.",
    "gate-syntax": "A gate can't be read. Write name=value, such as precision=0.80, or precision[type=table]>=0.75.",
    "gate-unknown": "A gate names a metric that the suite does not have. The message suggests the nearest one.",
    "gold-answerable": "A gold question does not say whether it is answerable. Add answerable: true or false.",
    "gold-blank": "A gold question expects a blank text, which every answer contains. Write the text, or remove it.",
    "gold-cited-refusal": (
        "An unanswerable question has citations or expected text. Remove them, or make it answerable."
    ),
    "gold-duplicate": "Two gold questions are the same. Keep one.",
    "gold-echo": (
        "An expected text occurs in the question, so repeating the question passes. Choose text that only the "
        "answer has."
    ),
    "gold-exact-list": 'A gold item has exact_list, but match is not all. Add "match": "all", or drop exact_list.',
    "gold-empty": "The gold set has no questions. Write at least one.",
    "gold-few-paraphrases": "Questions of a retrieval gold set have fewer than three paraphrases. Add some.",
    "gold-fields": (
        "No record of the gold file has the required fields. The message lists those found and how to map them."
    ),
    "gold-keys": (
        "Warning: gold questions have keys that no suite reads. Check their spelling; your own fields are fine."
    ),
    "gold-near-duplicate": "Two gold questions are nearly the same. Keep one, or make the difference clear.",
    "gold-negative": "An id is relevant and a hard negative at once. Remove it from one of the lists.",
    "gold-no-anchor": "Questions of a retrieval gold set have no anchor_section. Add the section of the answer.",
    "gold-no-negatives": "Questions of a retrieval gold set have no hard negatives. Add ids of blocks that look right.",
    "gold-no-offsets": "Relevant blocks of a retrieval gold set have no offsets. Add the byte range of each.",
    "gold-no-question": "A gold item has neither a question nor paraphrases, so nothing can be sent. Add one.",
    "gold-no-refusals": "The gold set has no unanswerable question, so refusals are not tested. Add some.",
    "gold-no-relevant": "Questions of a retrieval gold set have no relevant block. Add its id and offsets.",
    "gold-no-substr": (
        "An answerable question has no gold_claim_substr, so no answer can be correct. Add expected text."
    ),
    "gold-number": (
        "A gold question with match = number expects a text without a number. Write the number and its unit."
    ),
    "gold-paraphrase": "A paraphrase repeats the question or another paraphrase. Reword or remove it.",
    "gold-placeless": (
        "Warning: relevant blocks have no byte range or text, which the chosen --match needs. They are left out."
    ),
    "gold-regex": "A gold question with match = regex has a pattern that does not compile. The message says where.",
    "gold-repeated": "Two gold questions have the same qid, or one has none. Give each question its own.",
    "gold-retrieval": (
        "Information: a gold set with relevant blocks, paraphrases, anchor sections or negatives, but without "
        "answerable and expected text, was checked for retrieval."
    ),
    "gold-several": (
        "A question asks for several things, and any one of its expected texts is enough. Add match = all to ask for "
        "each of them."
    ),
    "gold-size": (
        "The gold set is too small to prove a gate, however good the run is. The message says how many questions "
        "are missing."
    ),
    "gold-token": "An expected text is part of the refusal token. Choose another.",
    "gold-tolerance": 'The tolerance of a gold item is neither a number nor a percentage. Write 0.5 or "5%".',
    "gold-uncited": "An answerable question has no gold_citations, so its citations can't be checked. Add a source id.",
    "gold-unknown-id": "A gold question names an id that is not in the chunk file. Correct the id, or the chunk file.",
    "gold-placeholder": "The gold file still has the expected text that init wrote as an example. Write your own.",
    "gold-vacuous": (
        "An answerable question has an empty gold_claim_substr, so every answer is correct. Add expected text."
    ),
    "gold-yes-or-no": (
        "Information: questions expect just yes or no. With gold_claim, a correct answer in one sentence, more answers "
        "can be told."
    ),
    "gold-yesno": "A gold question with match = yesno expects a text that is neither yes nor no. Write yes or no.",
    "header": "A header has a name or value that can't be sent. Write NAME=VALUE without line breaks.",
    "history-absent": "There is no history yet. `shipworthy check` records runs.",
    "history-corrupt": (
        "The history file is damaged and was left alone. Move it away to start a new one, or restore it."
    ),
    "history-export": "A line of an exported history has no report. Give the file that `history export` wrote.",
    "history-foreign": "The file is the database of another program, and was left alone. Name another file.",
    "history-keep": "prune must keep at least one run.",
    "history-locked": "Another program is writing the history. Try again; `check` records the run later.",
    "history-newer": "The history was written by a newer version. Update shipworthy; nothing was changed.",
    "history-no-item": "No recorded run has that question. Check the name; with --branch or --suite, leave them out.",
    "history-no-metric": "No recorded run has that metric. The message lists the metrics that exist.",
    "history-no-run": "No such run is recorded. `shipworthy history list` shows the runs.",
    "history-not-report": "Only a report of one suite can be recorded. Give the JSON that --json wrote.",
    "history-unusable": "The history can't be opened, read or written. Check the path, the server and permissions.",
    "history-url": "The history is neither a file nor a postgresql:// URL.",
    "http-method": "--method is not an HTTP method. Write GET or POST.",
    "id-map-conflict": "An --id-map file maps one trace id to two gold ids. Keep one line for each trace id.",
    "id-map-row": "A line of an --id-map file is not a pair of ids. Write a JSON object or two columns.",
    "id-map-unknown": "--id-map names an unknown step. Use one of the names in the message.",
    "id-map-unreadable": "The --id-map file can't be opened or is not UTF-8. Check path and encoding.",
    "id-map-value": "drop-prefix needs a value (drop-prefix=docs/), and the other --id-map steps take none.",
    "ids-hardly-match": (
        "Warning: hardly any gold id occurs in the log. After re-chunking use --match offsets or --match text."
    ),
    "import-cycle": "The parents of an exported span form a circle. The export is damaged: write it again.",
    "import-duplicate": "Two different spans of an import have the same id. Give each export once.",
    "import-empty": "A file to import has no record in it, or no file was named. Export it again.",
    "import-format": (
        "A file to import is not recognised, or is known not to hold runs. The message says what it looks like; "
        "choose with --from, or name the columns with --map."
    ),
    "import-formula": "A cell of a table holds a spreadsheet formula instead of its value. Export the values.",
    "import-map": ("A --map names a field that an import does not read. The message lists those that it reads."),
    "import-mixed": "A file to import, or the files together, hold several formats. Import each by itself.",
    "import-multi-turn": (
        "An export holds conversations of several turns, of which none is the question. Export single turns."
    ),
    "import-no-content": (
        "An export was recognised, but has neither answers nor rankings. The message says what to switch on or to "
        "export."
    ),
    "import-no-runs": "The files hold scores, a corpus or judgements, but no run. Give the file with the runs too.",
    "import-number": "A ranking or a judgement has a score that is no number. Check the columns of the file.",
    "import-reference": (
        "The tests of a promptfoo config are in another file, or made by a program. Import the file of tests by itself."
    ),
    "import-repr": (
        "A cell of a table holds a Python or NumPy repr that can't be read back. Write JSON Lines or Parquet."
    ),
    "import-too-large": "One JSON value of an export is larger than is read at once. Export JSON Lines or an array.",
    "import-version": (
        "An export is of a version that is not known. Add --from to read it all the same, and check the coverage."
    ),
    "import-yaml": "A YAML file can't be read: its syntax, a tag that stands for code, or anchors without end.",
    "index-mixed": "Warning: one log has several values of index_hash. Two indexes may be mixed in one file.",
    "index-same": "Warning: shadow and live have the same index_hash. This may be the same index twice.",
    "init-exists": "init would overwrite a file. Give --force to replace it, or remove it first.",
    "init-response": "The URL given to init did not return a response that can be mapped. The message shows what came.",
    "input-missing": "A suite needs an input that was not given. Give it with the flag or key in the message.",
    "input-unknown": "A suite was given an input that it does not read. The message lists its inputs.",
    "internal": (
        "A bug in shipworthy, or in code that it called. Other suites of a check keep their verdicts. Please report it."
    ),
    "interrupted": "The command was stopped before it ended, and there is no verdict. Run it again.",
    "item-unknown": "decision.item got a name that no item has, or several have. The message names the nearest ones.",
    "jitter-unknown": "No rewording (jitter) or profile has that name. Use one of the names in the message.",
    "journal-damaged": (
        "A line in the middle of a journal is not a trace: something else changed the file. Start again."
    ),
    "journal-exists": (
        "The file has finished runs. Drop them with --overwrite, write to another file, or continue with --resume, "
        "which all commands but `latency run` can."
    ),
    "journal-foreign": "The file holds no runs of this version and was left alone. Give another --out.",
    "journal-locked": "Another process is writing the journal; the message names it. Wait, or give another --out.",
    "journal-lost": (
        "The file NAME.journal, which a resume needs, is missing. The traces can be scored; to send the rest, put it "
        "back, or start again with --overwrite."
    ),
    "journal-mismatch": (
        "The journal was started with another gold set, grid or target. Resuming would mix two runs: write to "
        "another file."
    ),
    "json": "A line is not a single valid JSON object. The message has the column.",
    "k-range": "k must be at least 1. Write --k 5 or --k 1,3,5,10.",
    "label": "A validator's label is not one of VALID, NOT_IN_CONTEXT, REJECT, ABSTAIN (INVALID is read as REJECT).",
    "label-alike": "Warning: two labels differ only in case or white space, and count as two. Spell them the same way.",
    "labels": (
        "--labels has a duplicate, a blank label or only one label. List each label once, in order, such as 1,2,3."
    ),
    "latency-number": (
        "A latency, cost or load is negative or not finite. Write milliseconds, dollars, requests per second."
    ),
    "limit": "A limit of a run must be a finite number above 0.",
    "line-too-long": "A line is longer than 10 MB. Split the record, or leave out fields that are not scored.",
    "load": "A load is a number of requests per second, more than 0.",
    "lock-absent": "There is no lock beside the gold set. Write one with `shipworthy gold freeze`.",
    "lock-blank": "A lock needs a release and a name. Give --release and --signed-off-by.",
    "lock-damaged": "The gold lock can't be read or was edited. Restore it, or freeze the gold set again.",
    "lock-link": "The lock is a symbolic link; locks are not written through links. Remove the link.",
    "lock-version": "The gold lock is of another version. Use the program that wrote it, or freeze again.",
    "log-empty": "No line of the log is about a question of the gold set. Check that the two files belong together.",
    "log-no-question": "The log does not have the questions that were sent. Its lines need q, query or question.",
    "log-repeated": "Warning: several log lines have the same qid, paraphrase and seed. The last one counts.",
    "map-field": (
        "--map or [map] names a field that gold items and traces don't have. The message names the nearest one."
    ),
    "map-nothing": (
        "A mapped path or pattern matches nothing in any record. The message lists the fields that were found."
    ),
    "map-path": (
        "A --map path can't be read, or the mapping has no claim. Write claim=data.answer.text, citations=docs[*].id."
    ),
    "map-pattern": "A pattern in a mapping is not a valid regular expression. Check its brackets.",
    "map-value": "A mapped value, or a cell of a table, has the wrong type for its field. The message shows the value.",
    "metric-definition": "A table [metrics.NAME] does not define a metric. The message says what would be right.",
    "metric-failed": "The function of a metric raised an error for an item. Fix it, or let it return None.",
    "metric-labels": "Two labels of one question can't be told apart. Give the score of each labelled answer.",
    "metric-py": "The function of a metric can't be loaded. Check module and name; it is looked for beside the config.",
    "metric-unstable": "A metric gave two values for the same item. Take clock, chance and models out of the function.",
    "metric-value": "A metric got a value that it can't judge: a text without equals, a number out of its limits.",
    "mode": "--mode must be run or score.",
    "needs-extra": "A feature needs a package that is not installed. The message has the command that installs it.",
    "no-file": "The file does not exist. Check the path.",
    "no-match": "A glob or a folder has no file to read. Check the pattern, and quote it for the shell.",
    "nonfinite": "A line has NaN, Infinity or a number out of range. Write null, or leave the field out.",
    "not-list": "A .json file has one object where a list of records was expected. Save the list by itself.",
    "not-object": "A line has JSON that is not an object. Write one object per line.",
    "nul": "A line has NUL bytes, as a crash or a full disk leaves them. Write the file again.",
    "option-unknown": "A suite was given an unknown option. The message suggests the nearest one.",
    "option-value": "An option has a value that is not allowed. The message says what to write.",
    "outcome-date": "The timestamp of an outcome is not ISO-8601. Write 2025-03-11T09:30:00Z.",
    "outcome-field": "A field of an outcome has the wrong type. The message names it.",
    "outcome-flag": "A yes-or-no field of an outcome is neither. Write true or false (or 1/0, yes/no, y/n).",
    "outcome-missing": ("An outcome lacks a required field. Add prompt_id, accepted_without_edits and action_taken."),
    "output-is-input": "A flag names a file to write that the same command reads. Give another file.",
    "pair-repeated": "An answer was labelled twice in one file. Keep one line for each qid.",
    "pair-unanswered": "Warning: pairs came without answers, so their citations were not checked. Add --trace.",
    "pairs-none": "The file has no pair of labels to compare. Check the file.",
    "parquet": "A file is not readable as Parquet. Write it again, or give JSON lines.",
    "plan-grid": "Seeds or rewordings are empty or repeated, or paraphrases are requested twice. Name each value once.",
    "platform": (
        "A tracing platform is down, slow, refuses the request, or answers with something else. The message says what "
        "to do; what was pulled is kept: add --resume."
    ),
    "platform-address": (
        "The address of a platform can't be read. Write phoenix://HOST/PROJECT, mlflow://HOST/EXPERIMENT, "
        "langfuse://HOST, langsmith://HOST/PROJECT."
    ),
    "platform-answer": "A platform gave an answer of another form, or pages without end. Check its version.",
    "platform-journal": "The journal of a pull is damaged or belongs to another one. Leave out --resume.",
    "platform-key": "A platform needs a key, which is read from the variable in the message.",
    "platform-time": "--since or --until is not a time. Write 2026-11-01, 2026-11-01T08:00:00Z, 24h or 7d.",
    "power-nothing": "No suite of the config could be run, so there are no gates with rates. Use --gates and --rate.",
    "power-rate": "--rate takes METRIC=RATE with a rate from 0 to 1, such as precision=0.9.",
    "push-nothing": "No item of the report has a trace of the platform. Give the traces that import wrote from it.",
    "qid-number": (
        "A qid is a number and was read as text. This is harmless; write it as a string to avoid the warning."
    ),
    "qrels-empty": "The qrels file has no judgement. Write lines of: qid iteration docno relevance.",
    "qrels-line": (
        "A line of the qrels lacks a column, or its relevance is not an integer. Write: qid iteration docno relevance."
    ),
    "qrels-repeated": "The qrels have two different grades for the same document and query. Keep one of the lines.",
    "quarantine-all": "Every question is quarantined, so that no gate has anything to count. Leave at least one.",
    "quarantine-unknown": "A question that no suite has is quarantined. Check the qid, or remove the entry.",
    "raters-apart": (
        "No item was rated by two raters, so there is no agreement to measure. Check that raters use the same item ids."
    ),
    "raters-one": "All ratings are from one rater; agreement needs two. Add the ratings of another.",
    "rating-label": "A rating has a label that --labels does not name. Correct it, or add it there.",
    "rating-repeated": "A rater rated one item twice. Keep one of the two lines that the message names.",
    "ratings-none": "The file has no ratings. Write one per line: qid, rater, label.",
    "read-once": "Several suites read a pipe, and there is no room to keep what it gives. Save it to a file first.",
    "reason-binary": "The command of --binary can't be parsed. Close its quotation, or escape the quote.",
    "reason-binary-missing": (
        "The program given with --binary does not exist. Give an executable file or a command on the PATH."
    ),
    "reason-callable": (
        "The callable given with --python can't be imported. Write module:function, importable from here."
    ),
    "reason-target": "reason run needs exactly one reasoner. Give one of --binary, --url, --python.",
    "reason-url": "The value of --url is not a URL. Start it with http:// or https://.",
    "receipt-call": "The report does not say what it was computed from. Score again, and keep its `run` block.",
    "receipt-input": "An input of the report is no longer there. Name it with --gold, --trace or --input NAME=FILE.",
    "receipt-suite": "The report's suite can't be recomputed from files.",
    "receipt-trust": (
        "The report names an embedding server, a cache or a function. Add --trust if the report is your own."
    ),
    "refusal-phrase-invalid": "A declared refusal phrase has no letters or is too long. Shorten it.",
    "refusal-phrases-empty": "A file of refusal phrases is empty. Write one phrase per line.",
    "refusal-phrases-unreadable": "A file of refusal phrases can't be read as UTF-8. Check the path.",
    "refusal-rule-unknown": "The refusal rule is not one of exact, natural, phrases. Use one of these.",
    "repeated-key": "A key occurs twice in one object, so readers would disagree about its value. Keep one.",
    "replay-empty": "The trace file to replay has no traces.",
    "report-disagrees": "The summary of a reasoning report does not match its results. Run the evaluation again.",
    "report-edited": "The report was edited after it was written: its digest does not match. Score again.",
    "report-format": "Unknown report format. End the -o file with .html, .json, .md, .tsv, .txt or .xml.",
    "report-invalid": "The file is not a report. Give the JSON that --json or -o FILE.json wrote.",
    "report-unreadable": (
        "A reasoning report can't be opened, is not JSON or lacks its summary or results. Give the file that "
        "reason run wrote."
    ),
    "reranker-differs": "Warning: shadow and live were made with different rerankers, so more than the index differs.",
    "reranker-mixed": "Warning: one log was made with several rerankers.",
    "retrieval-duplicate": "A result list has a block twice. Remove it, or choose --duplicates first or occupy_slot.",
    "retrieval-inputs": (
        "The files given to a retrieval command don't fit together. Give --gold with --run or --shadow, or "
        "--qrels with --run."
    ),
    "retrieval-metric": (
        "--metrics has an unknown ranking metric, or one without its depth. Write P@5,R@10,nDCG@10,MRR,MAP."
    ),
    "retrieval-missing": "A question has no log line or no list. Run it, or choose how it counts with --missing-query.",
    "retrieval-no-offsets": (
        "--match offsets needs byte ranges in the gold set and in the log. Add them, or use --match ids."
    ),
    "retrieval-no-relevant": "A question has no relevant block. Add one, or choose how it counts with --no-relevant.",
    "retrieval-no-score": "Ranking by score was requested, but a block has no score. Log scores, or use --order list.",
    "retrieval-option": (
        "An option of the retrieval suite has a value that is not allowed. The message lists the values."
    ),
    "row-too-long": (
        "A row of a Parquet file is larger than a line may be. Split it, or leave out fields that are not scored."
    ),
    "run-all-failed": "Every run failed. Fix the first error, then run again with --overwrite.",
    "run-filter": "The report of --filter-failing was made with another gold set. Give the gold set it was made with.",
    "run-line": "A line of the run lacks a column, or its score is not a number. Write: qid Q0 docno rank score tag.",
    "run-no-out": "`run` was not told where to write. Add --out FILE.jsonl.",
    "run-locked": "Another `check --run` is writing the same traces; the message names it. Wait until it is done.",
    "run-no-target": "The command needs a system to send questions to. Give --http URL or --target.",
    "run-repeated": "Warning: several lines are about the same run. The last one counts.",
    "run-score": "A score of the run is not finite. Write a finite number.",
    "scheduler-missing": "The engine dask needs the address of a cluster: --scheduler tcp://HOST:8786.",
    "scheduler-unreachable": "The cluster does not answer, or has no worker. Check the address and whether it runs.",
    "scores-negative": "Warning: scores are negative and rise along the list. They may be distances.",
    "scores-order": (
        "Warning: scores rise along a list that is ranked by its order. Use --order score if the scores are right."
    ),
    "section-unknown": "Warning: the section of some retrieved blocks is unknown. Log section_id, or give --sections.",
    "sections-row": "A line of --sections is not a pair of strings. Write an id and a section_id.",
    "seeds-few": "Warning: a retrieval log has one seed only. Run at least two; --min-seeds 2 makes fewer NO VERDICT.",
    "serve-port": "`serve` can't listen at that address, often because the port is in use. Give another --port.",
    "serve-token": "`serve` needs a token to listen beyond this machine. Give --token, or bind 127.0.0.1.",
    "site-folder": "The folder for a site holds other files. Give -o an empty or a new folder; nothing was changed.",
    "stability-arms": "The runs are of several arms, so differences are not instability. Choose one with --arm.",
    "suite-unknown": "The suite does not exist, or is not in the config. The message lists the suites.",
    "summary": "Warning: the file of $GITHUB_STEP_SUMMARY can't be written. The verdict is unaffected; check the path.",
    "sweep-mixed": (
        "Warning: the file has runs of other sweeps, which were left out. Choose with --sweep, or use --sweep all."
    ),
    "sweep-unknown": "The file has no runs of that sweep. Use an id from the message.",
    "target": "The target can't be understood, found or imported. The message says how targets are written.",
    "target-address": (
        "The target's URL is refused: not http(s), link-local or metadata, with a password, or disguised."
    ),
    "target-unreachable": "The target did not answer, or stopped answering. Start it, then continue with --resume.",
    "token-absent": "There is no upload token with that id. `shipworthy serve token list` shows them.",
    "token-project": "An upload token needs a project. Give --project.",
    "too-deep": "A line is nested too deeply. Leave out the deep part if it is not scored.",
    "trace-fields": (
        "No record of the trace file has an answer. The message lists the fields found and how to map them."
    ),
    "trace-none": "There are no traces to score. Check the file, --sweep and the qids.",
    "trace-order": (
        "Two files have a trace of one question or run, or end with different sweeps, and no ts tells which is the "
        "later one. Write ts, keep one, or choose with --on-duplicate or --sweep."
    ),
    "trace-repeated": (
        "A question has several traces and --on-duplicate is error. Keep one, or choose last, first or worst."
    ),
    "trace-unknown": "A trace is for a question that is not in the gold set. Add the question, or drop --closed.",
    "trec-space": "An id has white space, which separates columns in a TREC file. Rename it, or use JSON lines.",
    "truncated": "A line is cut off, as a killed process leaves it. Complete the line, or remove it.",
    "type": "A field has the wrong type or value. The message names the field, what was found and what was expected.",
    "unknown-key": "A key looks like a misspelling of one that affects the score. Rename it as the message says.",
    "unreadable": "A file can't be opened or read to its end. Check permissions, and whether it is complete.",
    "unwritable": "A file can't be written. Check path, permissions and free space; the old file is untouched.",
    "usage": "The command line is wrong: an unknown command or flag, or a value that is missing. See --help.",
    "waiver-unknown": "A waiver names a gate that no suite has. The message suggests the nearest one.",
    "weights-order": "Weights need labels with an order. List the labels in order with --labels.",
    "where-gold": "--where chooses questions of a gold set, and nothing that is run reads one. Leave it out.",
    "where-none": "No question has the field and value of --where. The message says which values there are.",
    "where-syntax": "--where takes FIELD=VALUE, such as tier=smoke.",
    "word-command": "The command of --word can't be started. Check its spelling.",
    "worker-died": (
        "Worker processes died twice at the same part of the input, most often for lack of memory. Use fewer: --jobs."
    ),
    "write-failed": "A file can't be written. Check the path and its permissions.",
}
