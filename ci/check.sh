#!/usr/bin/env bash
# Install, check, say where the reports are, and end with the exit code of the check.
# Takes SHIPWORTHY_CONFIG, SHIPWORTHY_BASELINE, SHIPWORTHY_RUN and SHIPWORTHY_VERSION from the environment.
set -euo pipefail

if [[ -n "${SHIPWORTHY_VERSION:-}" ]]; then
  if [[ ! "$SHIPWORTHY_VERSION" =~ ^[0-9][0-9A-Za-z.+!-]*$ ]]; then
    printf 'The input version is not a version.\n' >&2
    exit 2
  fi
  python -m pip install --quiet "shipworthy==$SHIPWORTHY_VERSION"
elif ! command -v shipworthy >/dev/null; then
  python -m pip install --quiet "$GITHUB_ACTION_PATH"
fi

reports="$(mktemp -d "${RUNNER_TEMP:-/tmp}/shipworthy.XXXXXX")"
arguments=(check --format github --comment "$reports/comment.md")
for file in report.html report.json junit.xml badge.svg metrics.prom; do
  arguments+=(-o "$reports/$file")
done
if [[ -n "${SHIPWORTHY_CONFIG:-}" ]]; then arguments+=("--config=$SHIPWORTHY_CONFIG"); fi
if [[ -n "${SHIPWORTHY_BASELINE:-}" ]]; then arguments+=("--baseline=$SHIPWORTHY_BASELINE"); fi
if [[ "${SHIPWORTHY_RUN:-}" == true ]]; then arguments+=(--run); fi

code=0
shipworthy "${arguments[@]}" || code=$?

case "$code" in
  0) decision=SHIP ;;
  1) decision=NO-SHIP ;;
  3) decision="NO VERDICT" ;;
  *) decision="" ;; # the config or the environment is wrong: nothing was decided
esac
{
  printf 'decision=%s\n' "$decision"
  printf 'exit-code=%s\n' "$code"
  printf 'reports=%s\n' "$reports"
} >>"${GITHUB_OUTPUT:-/dev/null}"
exit "$code"
