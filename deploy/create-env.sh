#!/bin/sh
# Creates deploy/.env from deploy/.env.sample, with a random value for each empty secret, readable by its owner only.
# A file that exists is left as it is; it is only checked for secrets that are missing.
set -eu
cd "$(dirname "$0")"

secrets() { sed -n 's/^\([A-Z_]*\)=$/\1/p' .env.sample; }

if [ -e .env ]; then
  missing=''
  for name in $(secrets); do
    grep -q "^$name=." .env || missing="$missing $name"
  done
  [ -z "$missing" ] && exit 0
  echo "deploy/.env has no value for:$missing" >&2
  echo 'Add each of them as NAME=value, letters and digits only. This prints a good value: openssl rand -hex 24' >&2
  exit 1
fi

umask 077
draft=$(mktemp .env.XXXXXX)
trap 'rm -f "$draft"' EXIT
random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
while IFS= read -r line; do
  case $line in
    [A-Z]*=) printf '%s%s\n' "$line" "$(random)" ;;
    *) printf '%s\n' "$line" ;;
  esac
done < .env.sample > "$draft"
# A link, not a move: it fails where another process created the file first.
ln "$draft" .env
echo 'Created deploy/.env with random secrets, readable by you only. Keep it: the database keeps its password.'
