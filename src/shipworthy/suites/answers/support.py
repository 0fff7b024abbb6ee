"""Citation support: does the cited text contain what the claim says?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ...text import fold

# Numbers with their separators, and names: capitalised words that do not open a sentence, and words with digits.
_ANCHOR = r"\d[\d.,:/-]*\d|\d|(?<![.!?]\s)(?<!^)\b[A-Z][\w'-]+"


def supported(
    claim: str, citations: Sequence[str], substrings: Sequence[str], chunks: Mapping[str, str]
) -> bool | None:
    """True when the cited text has the gold substring that the claim has, or else the claim's numbers and names.

    None where the claim has neither, so that there is nothing to look for.
    """
    cited = fold(" ".join(chunks.get(name, "") for name in citations))
    folded = fold(claim)
    shared = [text for text in map(fold, substrings) if text and text in folded]
    if shared:
        return any(text in cited for text in shared)
    for name in citations:  # an id written into the claim is not something that it says
        claim = claim.replace(name, " ")
    anchors = {fold(anchor) for anchor in re.findall(_ANCHOR, claim)}
    return all(anchor in cited for anchor in anchors) if anchors else None
