#!/usr/bin/env bash
# Post the comment on a pull request, or update the one that an earlier run posted for the same config.
# Takes REPORTS, PULL_REQUEST, GITHUB_REPOSITORY and GH_TOKEN from the environment. Never changes the verdict.
set -euo pipefail

file="${REPORTS:-}/comment.md"
if [[ ! -s "$file" ]]; then
  printf 'There is no comment to post.\n'
  exit 0
fi
if [[ ! "${PULL_REQUEST:-}" =~ ^[0-9]{1,10}$ || ! "${GITHUB_REPOSITORY:-}" =~ ^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$ ]]; then
  printf 'The pull request is not known; nothing is posted.\n' >&2
  exit 0
fi

IFS= read -r marker <"$file"
if [[ ! "$marker" =~ ^'<!-- shipworthy:'[0-9a-f]{16}' -->'$ ]]; then
  printf 'The comment has no marker; nothing is posted.\n' >&2
  exit 0
fi

issue="repos/$GITHUB_REPOSITORY/issues"
export marker
# Only comments of a bot count: anyone can copy the marker.
query='.[] | select(.user.type == "Bot" and (.body | startswith(env.marker))) | .id'
known="$(gh api --paginate "$issue/$PULL_REQUEST/comments" --jq "$query" 2>/dev/null | tail -n 1 || true)"

if [[ "$known" =~ ^[0-9]+$ ]]; then
  gh api --silent --method PATCH "$issue/comments/$known" --field "body=@$file" && exit 0
else
  gh api --silent --method POST "$issue/$PULL_REQUEST/comments" --field "body=@$file" && exit 0
fi
printf 'The comment was not posted. Pull requests from forks have no right to: see docs/ci.md.\n' >&2
exit 0
