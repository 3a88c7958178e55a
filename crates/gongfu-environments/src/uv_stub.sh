#!/bin/sh
# Takes the place of `uv` for the scripts of a skill: the environment exists already and is read-only, so `uv run`
# runs its arguments in it, and everything else is refused.
folder=$(dirname -- "$0")
refuse() {
  echo "uv: $1 isn't possible here: the packages are installed before a skill runs; declare them in requirements.txt, pyproject.toml or the header of the script (PEP 723)" >&2
  exit 2
}
while [ $# -gt 0 ]; do
  case $1 in
    -q | --quiet | -v | --verbose | --offline | --no-progress | --no-config | --no-cache | -n) shift ;;
    run) shift && break ;;
    --version | -V) echo "uv (of this environment)" && exit ;;
    *) refuse "\`uv $1\`" ;;
  esac
done
[ $# -gt 0 ] || refuse "\`uv\` without \`run\`"
while [ $# -gt 0 ]; do
  case $1 in
    # gongfu has read these before, and installed what it could.
    --with=*) shift ;;
    --with-editable | --with-requirements) refuse "\`uv run $1\`" ;;
    --with-editable=* | --with-requirements=*) refuse "\`uv run ${1%%=*}\`" ;;
    -m | --module) shift && exec "$folder/python" -m "$@" ;;
    -s | --script) shift && exec "$folder/python" "$@" ;;
    --with | -p | --python | --project | --directory | --extra | --group | --env-file | --index | --default-index | --index-url | --cache-dir | --color)
      shift
      [ $# -eq 0 ] || shift
      ;;
    --) shift && break ;;
    -*) shift ;;
    *) break ;;
  esac
done
case ${1:-} in
  '') exec "$folder/python" ;;
  *.py | *.pyw) exec "$folder/python" "$@" ;;
  *) exec "$@" ;;
esac
