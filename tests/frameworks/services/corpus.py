"""What the three services know, and what their model says: a small corpus, and an answer to each question."""

from __future__ import annotations

DOCUMENTS = {
    "refunds.md": "Refunds are possible within 30 days. The finance team approves refunds over 500 dollars.",
    "pricing.md": "The Pro plan costs 49 dollars per month. The Team plan includes 25 users. There is a free plan.",
    "hosting.md": "Customer data is stored in Frankfurt. Backups are kept for 90 days. The uptime guarantee is 99.9 %.",
    "security.md": "Data at rest is encrypted with AES-256. Uploads may be up to 2 GB.",
    "support.md": "Support is by email only and answers within four hours. There is no phone support.",
    "company.md": "The company was founded on 12 March 2019. The app is in English, German and French.",
}
REFUSAL = "I don't know based on the provided documents."
# question, expected text (None: it can't be answered), what the model says, whether a person calls that right
QUESTIONS: list[tuple[str, list[str] | None, str, bool]] = [
    ("Within how many days can I get a refund?", ["30 days"], "You can get a refund within thirty days.", True),
    ("What does the Pro plan cost?", ["49 dollars"], "The Pro plan is $49 per month.", True),
    ("Where is customer data stored?", ["Frankfurt"], "Customer data is stored in Frankfurt, Germany.", True),
    ("Is there a free plan?", ["yes"], "Yes, there is a free plan.", True),
    ("Do you offer phone support?", ["no"], "No. Support is by email only.", True),
    ("How is data at rest encrypted?", ["AES-256"], "Data at rest is encrypted with **AES-256**.", True),
    ("How large may an upload be?", ["2 GB"], "Uploads may be up to 2 GB.", True),
    ("When was the company founded?", ["12 March 2019"], "It was founded on March 12, 2019.", True),
    ("In which languages is the app?", ["English", "German", "French"], "English, German and French.", True),
    ("What is the uptime guarantee?", ["99.9"], "The uptime guarantee is 99.9 %.", True),
    ("How soon does support answer?", ["4 hours"], "Support answers within four hours.", True),
    ("How long are backups kept?", ["90 days"], "Backups are kept for 30 days.", False),
    ("How many users does the Team plan include?", ["25"], "The Team plan includes 250 users.", False),
    ("Who approves refunds over 500 dollars?", ["finance"], REFUSAL, False),
    ("Who is the chief executive?", None, REFUSAL, True),
    ("What is the share price?", None, "The provided documents do not mention the share price.", True),
    ("Which airline does the company use?", None, "The company flies with Northern Air.", False),
]


def answer(text: str) -> str:
    """What the model says to a prompt: its answer to the question that stands last in it."""
    found = max(((text.rfind(question), said) for question, _, said, _ in QUESTIONS), default=(-1, ""))
    return found[1] if found[0] >= 0 else REFUSAL


def ranked(question: str) -> list[str]:
    """The names of the three documents that share most words with a question."""
    words = set(question.lower().strip("?").split())
    return sorted(DOCUMENTS, key=lambda name: -len(words & set(DOCUMENTS[name].lower().split())))[:3]
