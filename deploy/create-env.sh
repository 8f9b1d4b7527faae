#!/bin/sh
# Creates deploy/.env from deploy/.env.sample, with a random value for each empty secret, readable by its owner only.
# An existing file is not changed; only its secrets are checked.
set -eu
cd "$(dirname "$0")"

secrets() { sed -n 's/^\([A-Z_]*\)=$/\1/p' .env.sample; }

# Without quotes, as the compose file reads it. The last occurrence counts.
value() { sed -n "s/^$1=//p" .env | tail -n 1 | sed "s/^\([\"']\)\(.*\)\1\$/\2/"; }

refuse() {
  echo "deploy/.env: $1" >&2
  echo 'Write NAME=value with letters and digits only. This prints a good value: openssl rand -hex 24' >&2
  exit 1
}

if [ -e .env ]; then
  if [ ! -r .env ]; then
    echo 'This user cannot read deploy/.env. Run this as its owner.' >&2
    exit 1
  fi
  missing=''
  for name in $(secrets); do
    case $(value "$name") in
      '') missing="$missing $name" ;;
      # The values are used in URLs and headers.
      *[!A-Za-z0-9._~-]*) refuse "$name has a character that is not a letter, a digit or one of . _ ~ -" ;;
    esac
  done
  [ -z "$missing" ] || refuse "No value for$missing"
  token=$(value VITRINA_API_TOKEN)
  [ "${#token}" -ge 16 ] || refuse "VITRINA_API_TOKEN has ${#token} characters; it needs at least 16."
  exit 0
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
# A link, not a move: it fails if another process created the file first.
ln "$draft" .env
echo 'Created deploy/.env with random secrets, readable by you only. Keep it: the database keeps the password.'
