"""Refusals: the rule that every suite shares."""
from ...language.refusal import is_exact
from ...language.refusal.natural import opens_refusing

def refuses(text: str, prompt: str) -> bool:
    return is_exact(text.strip().rstrip(".")) or opens_refusing(text)
from ...language.refusal import TOKEN
