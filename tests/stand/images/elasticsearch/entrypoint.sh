#!/bin/bash
# Like the entrypoint of the official image: a variable whose name has a dot is a setting.
set -eu
settings=(-Enetwork.host=0.0.0.0)
while IFS='=' read -r -d '' name value; do
  case $name in [a-z]*.*) settings+=("-E$name=$value") ;; esac
done < /proc/self/environ
exec bin/elasticsearch "${settings[@]}"
