#!/bin/sh
# Waits until the database is migrated and the API is ready, then prints the address of the console. The arguments are the
# compose command. `up --detach` alone succeeds even if the containers fail a second later.
set -eu
cd "$(dirname "$0")/.."

# The service etl_migrate does the same in the background. Here its error is visible. A lock serialises the two.
if ! "$@" run --rm -T etl_migrate; then
  echo 'The migration failed: see the message above. If a password was rejected, deploy/.env is not the one that the' >&2
  echo 'database was created with. Restore it, or remove the data with "make down ARGS=--volumes" and start again.' >&2
  exit 1
fi

ready="fetch('http://127.0.0.1:8080/health/ready').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"
tries=60
until "$@" exec -T etl_api node -e "$ready" >/dev/null 2>&1; do
  tries=$((tries - 1))
  if [ "$tries" -eq 0 ]; then
    "$@" logs --tail=20 etl_api >&2 || true
    echo 'The API is not ready after two minutes. The last lines of its log are above; "make logs" follows all logs.' >&2
    exit 1
  fi
  sleep 2
done

# As the compose file reads it: the environment first, then deploy/.env.
publish=${VITRINA_PUBLISH:-$(sed -n 's/^VITRINA_PUBLISH=//p' deploy/.env | tail -n 1)}
case ${publish:=127.0.0.1:8080} in
  0.0.0.0:*) publish=127.0.0.1:${publish#*:} ;;
  *:*) ;;
  *) publish=127.0.0.1:$publish ;;
esac
echo "The console is at http://$publish/ui/. To see the token for sign-in: grep VITRINA_API_TOKEN deploy/.env"
