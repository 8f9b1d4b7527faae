# The operator's words. The developer's are npm scripts: demo, test, check, build.
# up, demo, down, migrate-db and logs need Docker with the compose plugin, or podman with podman-compose; the others need
# Node 20.19 or newer and npm.

.DEFAULT_GOAL := help
.PHONY: help up demo down migrate-db logs test check build env existing

# The first that is installed. Another one: make up ENGINE='podman compose'
ENGINE ?= $(shell if docker compose version >/dev/null 2>&1; then echo docker compose; \
	elif command -v podman-compose >/dev/null 2>&1; then echo podman-compose; fi)
COMPOSE = $(or $(ENGINE),$(error Neither docker compose nor podman-compose is installed. "npm run demo" needs no containers)) \
	--env-file deploy/.env --file deploy/docker-compose.yml
DOWN = $(COMPOSE) --profile demo --profile observability down --remove-orphans
NOT_STARTED = 'The stand did not start: see the messages above. If an address is in use, set VITRINA_PUBLISH, POSTGRES_PUBLISH or ELASTICSEARCH_PUBLISH in deploy/.env to another one, for example 127.0.0.1:18080, and run "make up" again.'
RUNNERS ?= 1
PROFILE ?=
ARGS ?=

help: ## Show these lines
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: env ## Start the stand in containers; RUNNERS=3 starts three runners, PROFILE=observability Prometheus and Grafana too
	$(COMPOSE) $(if $(PROFILE),--profile $(PROFILE)) up --build --detach --scale etl_runner=$(RUNNERS) || { echo $(NOT_STARTED) >&2; exit 1; }
	@./deploy/await-stand.sh $(COMPOSE)

demo: ## Start the stand with a sample cinema and build its marts; without containers, or with ARGS=--once, it is npm run demo
ifneq ($(and $(ENGINE),$(if $(ARGS),,yes)),)
	$(MAKE) up
	$(COMPOSE) --profile demo run --rm etl_demo
else
	npm run demo -- $(ARGS)
endif

# Twice with ARGS: podman-compose does not know how many runners were started, and a volume stays while one of them is
# left.
down: existing ## Stop the stand and remove its containers, keep the data; ARGS=--volumes removes the data too
	$(DOWN)
	$(if $(ARGS),$(DOWN) $(ARGS))

migrate-db: existing ## Bring the stand's meta store up to date, set the passwords of the logins and renew their grants
	$(COMPOSE) run --rm etl_migrate

logs: existing ## Follow the logs of the stand; ARGS=etl_runner shows one service
	$(COMPOSE) logs --follow --tail=100 $(ARGS)

test: ## Run every test
	npm test

check: ## Types, format and lint, room rules, unused code, generated files
	npm run check

build: ## Compile to dist/
	npm run build

# Creates deploy/.env with random secrets on first use.
env:
	@./deploy/create-env.sh

existing:
	@test -e deploy/.env || { echo 'There is no deploy/.env. "make up" creates it and starts the stand.' >&2; exit 1; }
