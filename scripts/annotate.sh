#!/usr/bin/env bash
# Checks skills, and prints what is wrong as GitHub's workflow commands: the last step of action.yml.
#
# PATHS holds folders, separated by spaces; STRICT is `true` or `false`.
set -euo pipefail

read -r -d '' -a paths <<<"${PATHS:-}" || true
[[ ${STRICT:-false} == true ]] && paths+=(--strict)
code=0
report=$(gongfu skill check --json ${paths[@]+"${paths[@]}"}) || code=$?
# 0 is clean, 1 is findings; anything else has said on standard error what is wrong.
((code <= 1)) || exit "$code"

jq --raw-output --arg root "${GITHUB_WORKSPACE:-$PWD}/" '
  # What a workflow command would take for its own.
  def data: gsub("%"; "%25") | gsub("\r"; "%0D") | gsub("\n"; "%0A");
  def property: data | gsub(":"; "%3A") | gsub(","; "%2C");
  .skills[] as $skill | $skill.diagnostics[]
  | (if .severity == "error" then "error" elif .severity == "warning" then "warning" else "notice" end) as $kind
  | "\($skill.path)/\(.file // "SKILL.md")" as $file
  | "::\($kind) file=\($file | ltrimstr($root) | property),line=\(.line // 1),col=\(.column // 1)"
    + ",title=\(.code | property)::\("\(.message). \(.hint // "")" | data)"
' <<<"$report"
jq --raw-output '"\(.skills | length) skills checked, \([.skills[] | select(.valid | not)] | length) invalid"' <<<"$report"
exit "$code"
