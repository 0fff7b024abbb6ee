"""The contradiction rule: opposites, negation, bounds and slots are seen; traps are not fallen into."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counting import calls
from shipworthy.codes import CODES
from shipworthy.errors import UsageError
from shipworthy.language.contradiction import Contradiction, contradicts, load_rules

CONTRADICT = [
    # reject / accept / allow / support
    ("The service rejects null keys.", "The service accepts null keys."),
    ("The service rejects null keys.", "Null keys are accepted by the service since version 2."),
    ("The service rejects null keys.", "The service supports null keys."),
    ("The map does not support null keys.", "The map allows null keys."),
    ("Null keys are not supported.", "The store supports null keys."),
    ("Guest checkout is allowed.", "Guest checkout is prohibited."),
    ("Sharing passwords is forbidden.", "Users may share passwords with colleagues."),
    ("The gateway accepts JSON bodies.", "As configured, the gateway refuses JSON bodies."),
    ("Deleting records is prohibited.", "You may delete records at any time."),
    # negation in its forms
    ("The cache stores passwords.", "The cache never stores passwords."),
    ("The cache never stores passwords.", "The cache can store passwords."),
    ("Passwords are not logged.", "Passwords are logged in plain text."),
    ("Version 1 tokens are no longer supported.", "Version 1 tokens are supported."),
    ("The API doesn’t return deleted users.", "The API returns deleted users."),
    ("You cannot cancel an order after shipping.", "You can cancel an order after shipping."),
    ("No refunds are given on sale items.", "Refunds are given on sale items."),
    ("Customer data never leaves the region.", "Customer data leaves the region. We are sorry."),
    ("If the token is stale, requests are rejected.", "If the token is stale, requests are accepted."),
    # double negation
    ("The parser never rejects empty files.", "The parser rejects empty files."),
    ("Empty files are not unsupported.", "Empty files are not supported."),
    ("The parser rejects empty files.", "The parser does not reject empty files."),
    # must / optional / may / required
    ("Passwords must contain a digit.", "Passwords may contain a digit."),
    ("A signature is required on every contract.", "A signature is optional on every contract."),
    ("Two-factor login is mandatory for admins.", "Two-factor login is not required for admins."),
    ("Two-factor login is optional for admins.", "Two-factor login is mandatory for admins."),
    ("Employees must not share badges.", "Employees may share badges."),
    ("Users must never delete audit logs.", "Users can delete audit logs."),
    # only / any / another
    ("Only admins can delete projects.", "Any user can delete projects."),
    ("Only admins can delete projects.", "Editors can delete projects."),
    ("Payments are accepted only in EUR.", "Payments are accepted in USD."),
    ("The importer reads only CSV files.", "The importer reads XML files."),
    ("The importer reads only CSV files.", "The importer reads any files."),
    ("Anyone can delete projects.", "Only admins can delete projects."),
    # on / off, enabled / disabled
    ("Telemetry is off by default.", "Telemetry is on by default."),
    ("Encryption at rest is enabled.", "Encryption at rest is disabled."),
    ("Debug mode must be turned off in production.", "Debug mode is turned on in production."),
    ("Backups are enabled for all plans.", "Backups are not enabled for all plans."),
    # numbers, bounds, units
    ("The timeout is 30 seconds.", "The timeout is 45 seconds."),
    ("The timeout is at most 30 seconds.", "The timeout is 45 s."),
    ("The timeout must not exceed 30 seconds.", "The timeout is 2 minutes."),
    ("Requests finish within 500 ms.", "Requests finish in 2 seconds."),
    ("Passwords must have at least 12 characters.", "Passwords must have at least 8 characters."),
    ("The discount is at most 20%.", "The discount is 25 percent."),
    ("Refunds are paid within 14 days.", "Refunds are paid within 30 days."),
    ("Sessions last no more than 8 hours.", "Sessions last more than 1 day."),
    ("The service keeps logs for more than 1 year.", "The service keeps logs for 90 days."),
    ("The team has three reviewers.", "The team has 5 reviewers."),
    # opposites of size, place and time
    ("The entrance is close to the gate.", "The entrance is far from the gate."),
    # several sentences and clauses
    (
        "The service rejects null keys.",
        "Thanks for asking. Values may be empty, but the service accepts null keys. Bye.",
    ),
    ("Refunds are not given for opened items.", "We ship at once. Refunds are given for opened items!"),
]

AGREE = [
    ("The service rejects null keys.", "The service does not support null keys."),
    ("The service rejects null keys.", "Null keys are not accepted by the service."),
    ("The service rejects null keys.", "The service never allows null keys."),
    ("The map does not support null keys.", "The map rejects null keys."),
    ("The parser never rejects empty files.", "The parser accepts empty files."),
    ("Empty files are not unsupported.", "Empty files are supported."),
    ("Guest checkout is not prohibited.", "Guest checkout is allowed."),
    ("Telemetry is off by default.", "Telemetry is disabled by default."),
    ("Telemetry is not enabled by default.", "Telemetry is off by default."),
    ("A signature is required on every contract.", "Every contract must have a signature."),
    ("Two-factor login is not mandatory for guests.", "Two-factor login is optional for guests."),
    ("Only admins can delete projects.", "Only admins may delete projects."),
    ("Only admins can delete projects.", "Admins can delete projects."),
    ("Only admins can delete projects.", "Editors cannot delete projects."),
    ("The timeout is 90 seconds.", "The timeout is 1.5 minutes."),
    ("The timeout is at most 30 seconds.", "The timeout is 20 seconds."),
    ("Requests finish within 2 seconds.", "Requests finish in 500 ms."),
    ("Uploads are limited to 10 MB.", "Uploads are limited to 10,000 KB."),
    ("Uploads are limited to 10 MB.", "Uploads up to 5 MB are accepted."),
    ("Passwords must have at least 8 characters.", "Passwords must have at least 12 characters."),
    ("The team has three reviewers.", "The team has 3 reviewers."),
    ("Refunds are not given unless the item is damaged.", "Refunds are given if the item is damaged."),
    ("Version 1 tokens are no longer supported.", "Version 1 tokens are not supported."),
    ("Uploads require authentication.", "Uploads do not work without authentication."),
    ("The job not only reads files but also writes them.", "The job reads files."),
    ("The store supports neither null keys nor null values.", "The store does not support null keys."),
]

UNRELATED = [
    ("Raw readings must be kept for at least 36 months.", "Record: Access logs; Kept for: 13 months; Owner: Ops"),
    ("Do not mention competitor prices.", "I can't discuss competitor prices."),
    ("Sessions were held at No. 4.", "Sessions were held at hall No. 4."),
    ("Bishop does not sing lead vocals.", "Thomas sings lead vocals."),
    ("Baking blind is baking a crust without the filling.", "The crust needs to be baked before adding the filling."),
    ("Some books must have been lost.", "Some books may have been lost."),
    # the month of May
    ("Reports must be filed in April.", "Reports were filed in May 2024."),
    ("Reports must be filed by the owner.", "Reports filed by the owner on May 3 were read."),
    ("Invoices are due in May.", "Invoices must be due in May."),
    # nouns and prepositions that look like verdicts
    ("Users must recycle the bottle.", "Users recycle a can of soda."),
    ("A phone is a must-have for travel staff.", "Travel staff may carry a phone."),
    ("The report is on the table.", "The report fell off the table."),
    ("The page shows a block of text.", "The page shows text."),
    # another case
    ("Requests are rejected.", "If the token is valid, requests are accepted."),
    ("Requests are rejected if the token is stale.", "If the token is fresh, requests are accepted."),
    # other matter
    ("The service rejects null keys.", "The weather is fine."),
    ("The service rejects null keys.", "The service accepts null values."),
    ("The service rejects null keys.", "The service accepts credit cards."),
    ("Admins can delete records.", "Admins can edit records."),
    ("Passwords are not logged.", "Passwords are hashed with a salt."),
    ("The timeout is 30 seconds.", "The delay is 45 seconds."),
    ("The timeout is 30 seconds.", "Retries follow the timeout after 5 attempts."),
    ("Guests cannot export reports.", "Admins can export reports."),
    ("The importer reads only CSV files.", "The importer runs on Linux."),
    ("Backups are stored in Germany.", "Invoices are stored in France."),
    ("Refunds are not given for opened items.", "Refunds are given for opened items if they are faulty."),
    ("Orders include a red pen.", "Orders include a blue folder."),
]

POLICIES_BROKEN = [
    ("All data must be encrypted at rest.", "Data at rest is not encrypted."),
    ("The maximum file size is 25 MB.", "You can upload files with a size of 50 MB."),
    ("Customers may return items within 30 days.", "Customers may return items within 60 days of purchase."),
    ("Customers may return items within 30 days.", "Customers cannot return items."),
    ("The product is not available in Canada.", "The product is available in Canada."),
    ("Smoking is not permitted in rooms.", "Smoking is permitted in rooms."),
    ("The API key expires after 90 days.", "The API key never expires."),
    ("Rate limit is 100 requests per minute.", "Rate limit is 500 requests per minute."),
    ("The warranty covers 2 years.", "The warranty covers 5 years."),
    ("Employees get 25 days of annual leave.", "Employees get 30 days of annual leave."),
    ("Prices exclude VAT.", "Prices include VAT."),
    ("The library is thread-safe.", "The library is not thread-safe."),
    ("Do not store card numbers.", "We store card numbers for faster checkout."),
    ("Never share customer emails with third parties.", "Customer emails are shared with third parties."),
    ("Access requires a VPN.", "Access does not require a VPN."),
    ("Access requires a VPN.", "A VPN is optional for access."),
    ("Pets are welcome in all rooms.", "Pets are not welcome in the rooms."),
    ("The feature is enabled by default.", "By default, the feature is disabled."),
    ("HashMap allows null keys.", "HashMap does not allow null keys."),
    ("The order cannot be changed after payment.", "The order can be changed after payment."),
    ("Data is retained for 30 days.", "Data is retained for one year."),
    ("Minimum age is 18 years.", "Minimum age is 16 years."),
    ("Use of generators is banned after 10 pm.", "Use of generators is allowed after 10 pm."),
    ("The system must respond in under 200 ms.", "The system responds in 350 ms."),
    ("The battery lasts at least 10 hours.", "The battery lasts 6 hours."),
    ("Never disclose the customer's address.", "The customer's address may be disclosed."),
    ("Overtime must be approved by a manager.", "Overtime does not need to be approved by a manager."),
    ("Autosave is on.", "Autosave is off."),
    ("The library works only on Linux.", "The library works on Windows."),
    ("Contractors may not access production data.", "Contractors may access production data."),
    ("The lease lasts 12 months.", "The lease lasts 24 months."),
    ("Latency stays below 100 milliseconds.", "Latency stays above 0.2 seconds."),
    ("The cache holds at most 512 MB.", "The cache holds more than 1 GB."),
    ("Returns are accepted.", "Returns are not accepted."),
    ("Visitors must wear a badge.", "Visitors are not required to wear a badge."),
    ("Visitors must wear a badge.", "Visitors don't have to wear a badge."),
    ("The free plan lacks priority support.", "The free plan offers priority support."),
    ("Trial accounts cannot create API keys.", "Yes, trial accounts can create API keys from the settings page."),
    ("No user data is sent to third parties.", "User data is sent to third parties for analytics."),
    ("The endpoint is rate limited to 60 requests per hour.", "The endpoint is rate limited to 600 requests per hour."),
    ("Children under 12 are not admitted.", "Children under 12 are admitted."),
    ("Dogs are not permitted on the beach in May.", "Dogs are permitted on the beach in May."),
]

POLICIES_KEPT = [
    ("All data must be encrypted at rest.", "Data is encrypted at rest with AES."),
    ("Free shipping applies to orders over $50.", "Free shipping applies to orders over $100."),
    ("Customers may return items within 30 days.", "Customers returned items in May."),
    ("Customers may return items within 30 days.", "Items can be returned for 2 weeks."),
    ("The product is not available in Canada.", "The product is available in France."),
    ("Do not store card numbers.", "We never store card numbers."),
    ("Do not store card numbers.", "We don't store card numbers or passwords."),
    ("The API key expires after 90 days.", "The API key is valid until day 90."),
    ("Rate limit is 100 requests per minute.", "The service handles 5 users per minute."),
    ("Access requires a VPN.", "You must use a VPN for access."),
    ("ConcurrentHashMap does not allow null keys or values.", "ConcurrentHashMap rejects null values."),
    ("The order cannot be changed after payment.", "The order can be changed before payment."),
    ("Respond only in English.", "Respond in English."),
    ("Data is retained for 30 days.", "Data is retained for 720 hours."),
    ("Minimum age is 18 years.", "The customer is 21 years old."),
    ("The system must respond in under 200 ms.", "The system responds in 150 ms."),
    ("Refunds are not available after 30 days.", "Refunds are available within 30 days."),
    ("Refunds are not available after 30 days.", "Refunds are available before 30 days have passed."),
    ("No personal data may be exported.", "Personal data may not be exported."),
    ("No personal data may be exported.", "Exporting personal data is forbidden."),
    ("Users can't log in without MFA.", "Users can log in with MFA."),
    ("Requests without a key are rejected.", "Requests with a key are accepted."),
    ("The API rejects requests without a token.", "The API accepts requests with a valid token."),
    ("Orders over $100 must be approved.", "Orders under $50 need not be approved."),
    ("The endpoint returns 404 for missing users.", "The endpoint returns 200 for existing users."),
    ("The service is free for students.", "The service costs $10 for companies."),
    ("The cache is disabled in tests.", "The cache is enabled in production."),
    ("Staff may work from home.", "Staff must wear a badge at the office."),
    ("The plan includes 5 seats.", "The plan includes 10 GB of storage."),
    ("Only admins can delete projects.", "Any user can view projects."),
    ("Only admins can delete projects.", "Editors can edit projects."),
    ("Deliveries arrive on weekdays.", "Deliveries do not arrive on Sunday."),
    ("Errors are never ignored.", "Errors are logged and never ignored."),
    ("The tool does not delete files.", "The tool does not delete files or folders, and it logs errors."),
    ("The service rejects null keys.", "null keys"),
    ("The service rejects null keys.", "The service logs null keys and raises an error."),
    ("The API supports JSON.", "The API supports XML."),
    ("Payments are accepted in EUR.", "Payments are accepted in USD."),
    ("Admins can delete projects.", "Editors can delete projects."),
    ("Never disclose the customer's address.", "I cannot disclose the customer's address."),
    ("Never disclose the customer's address.", "The customer's address was not disclosed."),
    ("Alcohol is not allowed on the premises.", "Water is allowed on the premises."),
    ("Overtime must be approved by a manager.", "Overtime may be worked on Sundays."),
    ("Sessions expire after 15 minutes of inactivity.", "Sessions expire after 900 seconds of inactivity."),
    ("The lease starts on May 1.", "The lease may start later."),
    ("The free plan lacks priority support.", "The paid plan offers priority support."),
    ("Contractors may not access production data.", "Contractors may access test data."),
    ("Contractors may not access production data.", "Employees may access production data."),
    ("The store is closed on Sunday.", "The store is open on Monday."),
    ("The store is open until 8 pm.", "The store opens at 9 am."),
    ("Do not exceed 4 tablets in 24 hours.", "Take 2 tablets every 12 hours."),
    ("Trial accounts cannot create API keys.", "Paid accounts can create API keys."),
    ("Returns are not accepted after 30 days.", "Returns are accepted within 30 days."),
    ("Returns are not accepted after 30 days.", "Returns are accepted for 14 days."),
    ("The warranty does not cover water damage.", "The warranty covers manufacturing defects."),
    ("The warranty does not cover water damage.", "The warranty covers battery damage."),
    ("Passwords must not be reused.", "Passwords must be changed every 90 days."),
    ("Users without a licence cannot export.", "Users with a licence can export."),
    ("Don't deploy on Friday.", "Deploy on Monday."),
    ("Deploy only on Monday.", "Do not deploy on Friday."),
    ("Deploy only on Monday or Tuesday.", "Deploy on Tuesday."),
    ("Requests larger than 5 MB are rejected.", "Requests smaller than 5 MB are accepted."),
    ("Requests larger than 5 MB are rejected.", "Requests up to 5 MB are accepted."),
    ("The maximum upload is 10 MB.", "The minimum upload is 1 KB."),
    ("Two-step login is required for admins.", "Two-step login is optional for guests."),
    ("The retention period is 30 days for logs.", "The retention period is 90 days for backups."),
    ("Only the owner may close the account.", "The account may be closed only by the owner."),
    ("Never use red for alerts.", "Use blue for alerts."),
    ("It is not true that guests can pay later.", "Guests cannot pay later."),
    ("The feature is disabled unless the flag is set.", "The feature is enabled when the flag is set."),
    ("You may not smoke here.", "You may not smoke here, but you may smoke outside."),
    ("The limit is 5 per customer.", "The limit is 5 per customer and 20 per store."),
    ("Delivery takes 3 to 5 days.", "Delivery takes 4 days."),
    # one of several numbers, one of several things
    ("Delivery takes 3 and 5 days respectively.", "Delivery takes 6 days."),
    ("The plan covers the 2023-24 season.", "The plan covers the 2023-24 season at home."),
    ("Red and blue seats cost 30 dollars.", "Red seats cost 10 dollars."),
    ("Guests pay by card or invoice.", "Guests do not pay by invoice."),
]

# Contradictions that the rule does not see, as the documentation says; a rule that sees them moves them up.
BLIND = [
    ("Refunds are available for digital goods.", "Refunds are unavailable for digital goods."),
    ("Logs are kept after an incident.", "Logs are deleted after an incident."),
    ("It is not true that guests can pay later.", "Guests can pay later."),
    ("Exports take 20 or 30 minutes.", "Exports take 45 minutes."),
    ("Access logs must be kept for at least 36 months.", "Record: Access logs; Kept for: 13 months; Owner: Ops"),
    ("Neither guests nor trial users can export reports.", "Guests can export reports."),
    ("Uploads require authentication.", "Uploads work without authentication."),
    ("Uploads are limited to 10 MB.", "Uploads of up to 1 GB are accepted; uploads may take 1 GB."),
    ("Backups are stored in Germany.", "Backups are stored in France."),
    ("Reports are sent on Monday.", "Reports are sent on Friday."),
    ("The endpoint is public.", "The endpoint is private."),
    ("Data is encrypted in transit.", "Data is unencrypted in transit."),
    ("Maintenance begins in May 2024.", "Maintenance begins in June 2024."),
    ("Do not mention competitor prices.", "The competitor prices are $5."),
    ("Respond only in English.", "Respond in French."),
    ("ConcurrentHashMap does not allow null keys or values.", "ConcurrentHashMap allows null keys."),
    ("The meeting is on Tuesday.", "The meeting is on Thursday."),
    ("Discounts must be below 15%.", "A discount of 20% is applied."),
    ("Alcohol is not allowed on the premises.", "Beer is allowed on the premises."),
    ("Vehicles are prohibited in the park.", "Cars are allowed in the park."),
    ("The index is updated daily.", "The index is updated weekly."),
    ("Sessions expire after 15 minutes of inactivity.", "Sessions never expire."),
    ("Support is available 24 hours a day.", "Support is not available at night."),
    ("Answers must be in English.", "Answers may be in any language."),
]


@pytest.mark.parametrize(("constraint", "claim"), CONTRADICT + POLICIES_BROKEN)
def test_contradicts(constraint: str, claim: str) -> None:
    found = contradicts(constraint, claim)
    assert isinstance(found, Contradiction)
    assert found.why


@pytest.mark.parametrize(("constraint", "claim"), AGREE + UNRELATED + POLICIES_KEPT)
def test_does_not_contradict(constraint: str, claim: str) -> None:
    assert contradicts(constraint, claim) is None


@pytest.mark.parametrize(("constraint", "claim"), BLIND)
def test_is_blind_to(constraint: str, claim: str) -> None:
    assert contradicts(constraint, claim) is None


@pytest.mark.parametrize(
    ("constraint", "claim", "why"),
    [
        ("The service rejects null keys.", "The service accepts null keys.", "rejects ↔ accepts"),
        ("The timeout is at most 30 s.", "The timeout is 45 s.", "at most 30 second ↔ 45 second"),
        ("The cache stores passwords.", "The cache never stores passwords.", "negation"),
        ("The index is large.", "The index is small.", "larg ↔ small"),
        ("Only admins can delete projects.", "Any user can delete projects.", "only admin ↔ any"),
        ("Passwords must contain a digit.", "Passwords may contain a digit.", "must ↔ optional"),
        ("Fees are below $20.", "Fees are $25.", "below 20 dollar ↔ 25 dollar"),
    ],
)
def test_says_why(constraint: str, claim: str, why: str) -> None:
    found = contradicts(constraint, claim)
    assert found is not None
    assert found.why == why


def test_names_the_two_sentences() -> None:
    found = contradicts(
        "Be brief. The service rejects null keys.", "Yes. The service accepts null keys! Anything else?"
    )
    assert found is not None
    assert (found.constraint, found.claim) == ("The service rejects null keys.", "The service accepts null keys!")


@pytest.mark.parametrize("text", ["", "   ", "...", "\n\n", "???", "the of and", "不支持空键", "\x00", "🚢", "12 34"])
def test_says_nothing_of_texts_without_content(text: str) -> None:
    assert contradicts(text, "The service rejects null keys.") is None
    assert contradicts("The service rejects null keys.", text) is None


def test_unicode_forms_are_one() -> None:
    composed, split = "The caf\u00e9 allows dogs.", "The cafe\u0301 doesn\u2019t allow dogs."
    assert contradicts(composed, split) is not None
    assert contradicts(composed, "THE CAFE\u0301 ALLOWS DOGS.") is None


WORDS = st.sampled_from(
    [
        "not",
        "never",
        "no",
        "only",
        "any",
        "must",
        "may",
        "can",
        "without",
        "unless",
        "if",
        "and",
        "or",
        "but",
        "the",
        "rejects",
        "accepts",
        "null",
        "keys",
        "service",
        "is",
        "off",
        "on",
        "enabled",
        "disabled",
        "at",
        "most",
        "30",
        "45",
        "seconds",
        "ms",
        "MB",
        "red",
        "blue",
        "first",
        "second",
        "May",
        ",",
        ".",
        "%",
        "neither",
        "nor",
        "required",
        "optional",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(max_size=80), st.lists(WORDS, max_size=25).map(" ".join)))
def test_a_repeated_constraint_is_kept(text: str) -> None:
    assert contradicts(text, text) is None
    assert contradicts(text, text.upper().lower() if text.isascii() and "May" not in text else text) is None


@settings(max_examples=150, deadline=None)
@given(st.lists(WORDS, max_size=25).map(" ".join), st.lists(WORDS, max_size=25).map(" ".join))
def test_any_two_texts_are_judged_alike_twice(constraint: str, claim: str) -> None:
    assert contradicts(constraint, claim) == contradicts(constraint, claim)


@pytest.mark.parametrize(("constraint", "claim"), CONTRADICT[:20])
def test_a_constraint_repeated_beside_its_contradiction_still_breaks(constraint: str, claim: str) -> None:
    assert contradicts(constraint, f"{constraint} {claim}") is not None


LONG = {
    "one sentence": "lorem ipsum dolor sit amet service " * 29_000,
    "many sentences": "".join(f"The service stores keys number {index}. " for index in range(27_000)),
    "negators": "null keys not " * 71_000,
    "one word": "a" * 1_000_000,
    "hyphens": "a-" * 500_000,
    "one number": "1" * 1_000_000,
    "spaces": " " * 1_000_000,
}


@pytest.mark.parametrize("claim", LONG.values(), ids=LONG)
def test_a_claim_twice_as_long_costs_no_more_than_twice_the_work(claim: str) -> None:
    constraint = "The service rejects null keys within 30 seconds."
    contradicts(constraint, claim[:100])  # rules are read and patterns compiled once
    half, whole = calls(contradicts, constraint, claim[: len(claim) // 2]), calls(contradicts, constraint, claim)
    assert whole <= 2 * half


def test_a_contradiction_at_the_end_of_a_long_claim_is_found() -> None:
    filler = "".join(f"Paragraph {index} speaks of the weather. " for index in range(20_000))
    assert contradicts("The service rejects null keys.", filler + "The service accepts null keys.") is not None


def test_added_rules_widen_the_bundled_ones() -> None:
    constraint, claim = "Cabins are painted mauve.", "Cabins are painted ochre."
    assert contradicts(constraint, claim) is None
    rules = load_rules({"exclusive": {"colours": "mauve, ochre"}})
    assert contradicts(constraint, claim, rules) is not None
    assert contradicts(constraint, claim) is None, "the bundled rules stay as they were"


@pytest.mark.parametrize(
    ("extra", "constraint", "claim"),
    [
        ({"predicates": {"berth": ["berth | unberth"]}}, "Ships berth at pier four.", "Ships unberth at pier four."),
        (
            {"opposites": {"sea": ["port side | starboard side"]}},
            "The pilot boards on the port side.",
            "The pilot boards on the starboard side.",
        ),
        ({"units": {"length": ["1852 nautical mile, nmi"]}}, "The zone is at most 2 nmi.", "The zone is 5 km."),
        ({"words": {"negators": ["nowise"]}}, "The tug tows barges.", "The tug nowise tows barges."),
        ({"synonyms": {"sea": ["tug = towboat"]}}, "The tug tows barges.", "The towboat never tows barges."),
        ({"synonyms": {"sea": ["reject = veto"]}}, "The pilot accepts tugs.", "The pilot vetoes tugs."),
        ({"exclusive": {"sea": ["tug, ferry, yacht"]}}, "Pier four is for the ferry.", "Pier four is for the yacht."),
        ({"bounds": {"at_most": ["not beyond"]}}, "The zone is not beyond 2 km.", "The zone is 5 km."),
    ],
)
def test_every_table_can_be_extended(extra: dict[str, object], constraint: str, claim: str) -> None:
    assert contradicts(constraint, claim) is None
    assert contradicts(constraint, claim, load_rules(extra)) is not None


def test_an_added_synonym_silences() -> None:
    constraint, claim = "The index is large.", "The index is small."
    assert contradicts(constraint, claim) is not None
    assert contradicts(constraint, claim, load_rules({"synonyms": {"ours": ["large = small"]}})) is None


@pytest.mark.parametrize(
    ("extra", "says"),
    [
        ({"opposite": {"a": ["b | c"]}}, "Did you mean 'opposites'?"),
        ({"opposites": ["b | c"]}, "is not a table"),
        ({"opposites": {"a": 3}}, "opposites.a can't be read: 3. Write 'warm, hot | cold'."),
        ({"opposites": {"a": ["b | c", 3]}}, "opposites.a can't be read: 3."),
        ({"opposites": {"a": ["b, c"]}}, "can't be read: 'b, c'"),
        ({"predicates": {"a": ["b | c | d"]}}, "Write 'accept, allow | reject, deny'."),
        ({"predicates": {"a": ["b |"]}}, "Write 'accept, allow | reject, deny'."),
        ({"exclusive": {"moods": "happy"}}, "Write 'red, green, blue'."),
        ({"synonyms": {"a": ["sofa, couch"]}}, "Write 'sofa = couch'."),
        ({"units": {"time": ["fortnight"]}}, "Write '60 minute, min'."),
        ({"units": {"time": ["1/0 fortnight"]}}, "Write '60 minute, min'."),
        ({"units": {"time": ["-3 fortnight"]}}, "Write '60 minute, min'."),
        ({"words": {"negator": ["nay"]}}, "Did you mean 'negators'?"),
        ({"words": {"negators": [""]}}, "can't be read: ''"),
        ({"words": {"negators": ["nay | nope"]}}, "can't be read: 'nay | nope'"),
    ],
)
def test_a_mistake_in_the_rules_is_said(extra: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match="contradiction-rule") as caught:
        load_rules(extra)
    assert says in str(caught.value)
    assert caught.value.hint


def test_the_code_is_documented() -> None:
    assert "contradiction-rule" in CODES


def test_importing_reads_no_rules() -> None:
    code = "import sys, shipworthy.language.contradiction; sys.exit('tomllib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_hardly_any_pair_that_agrees_is_flagged(real_data: Callable[[str], Path]) -> None:
    """Precision before recall: on pairs that people call entailed or neutral, at most one in thirty."""
    for name in ("negation_snli", "conjnli_dev"):
        lines = (real_data("nli") / f"{name}.jsonl").read_text("utf-8").splitlines()
        agreeing = [pair for pair in map(json.loads, lines) if pair["label"] != "contradiction"]
        flagged = [pair for pair in agreeing if contradicts(pair["premise"], pair["hypothesis"])]
        assert 30 * len(flagged) <= len(agreeing), name


def test_a_reply_of_no_denies_nothing_that_follows() -> None:
    locked = "Opened filters cannot be returned."
    assert contradicts(locked, "No, opened filters cannot be returned.") is None
    assert contradicts(locked, "Yes, opened filters can be returned.") is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1. Rinse the filter with water.", "4. Rinse the filter with water."),
        ("(2) Dry the filter.", "Step 3: Dry the filter."),
        ("## 1. Clean the air filter", "## 2. Clean the air filter"),
        ("The trial requires no credit card.", "The trial does not require any credit card."),
        ("Do not open the valve.", "Avoid opening the valve."),
        ("Remote Start can only be used twice.", "Press the Remote Start button on the key fob twice."),
        ("Avoid full throttle when the engine is cold.", "You should avoid full throttle when the engine is cold."),
        ("The plan does not cover drugs that are not approved.", "The plan does not cover drugs."),
        ("The fee may not apply if the visit is not booked.", "The fee may not apply if the visit is booked late."),
        ("You may have to pay the full cost.", "You may be responsible for the full cost."),
        (
            "The plan covers dental care.",
            "One page says that the plan covers dental care, but another says that it does not.",
        ),
        (
            "There are four bolts in the bracket.",
            "There is one bolt on each side, so there are four bolts in the bracket.",
        ),
    ],
)
def test_numbers_of_lists_and_other_words_for_the_same_are_no_contradiction(one: str, other: str) -> None:
    assert contradicts(one, other) is None
    assert contradicts(other, one) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (  # a way to do it, and that it is the way
            "You can reset the meter by holding the left button.",
            "To reset the meter, you need to hold the left button.",
        ),
        (  # a case that is supposed, and not said to be so
            "If the claim is rejected, the member may appeal the decision.",
            "If the claim is accepted, the member should keep a copy.",
        ),
        (
            "When the pump is enabled, the lamp is green.",
            "When the pump is disabled, the lamp is red.",
        ),
        (  # two denials do not cancel out
            "Massages are not covered for sore backs.",
            "Massages are not covered for children and are not covered for sore backs.",
        ),
        (
            "Massages are not covered for sore backs.",
            "Massages are not covered for children, and they are not covered for sore backs.",
        ),
        (  # who need not may not
            "Outside dentists may not accept the same rates.",
            "Outside dentists are not required to accept the same rates as others.",
        ),
        ("The discount is only applicable to member clinics.", "Any member clinic gives you the discount."),
    ],
)
def test_sentences_of_two_true_answers_are_no_contradiction(one: str, other: str) -> None:
    assert contradicts(one, other) is None
    assert contradicts(other, one) is None


@pytest.mark.parametrize(
    ("constraint", "claim"),
    [
        ("Passwords must contain a digit.", "Passwords may contain a digit."),
        ("The pump is enabled at night.", "The pump is disabled at night."),
        ("Massages are covered for children.", "Massages are not covered for children."),
        ("Outside dentists must accept the fixed rates.", "Outside dentists need not accept the fixed rates."),
    ],
)
def test_what_only_looks_like_them_still_is_one(constraint: str, claim: str) -> None:
    assert contradicts(constraint, claim)
    assert contradicts(claim, constraint)
