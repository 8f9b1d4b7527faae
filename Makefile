# Commands for operators. Developers use the npm scripts: demo, test, check, build.
# up, demo, down, migrate-db and logs need Docker with the compose plugin, or podman with podman-compose; the others need
# Node 20.19 or newer and npm.

.DEFAULT_GOAL := help
.PHONY: help up demo down migrate-db logs test check build env existing

# The first engine that is installed. To use another one: make up ENGINE='podman compose'
ENGINE ?= $(shell if docker compose version >/dev/null 2>&1; then echo docker compose; \
	elif command -v podman-compose >/dev/null 2>&1; then echo podman-compose; fi)
COMPOSE = $(or $(ENGINE),$(error Neither docker compose nor podman-compose is installed. "npm run demo" needs no containers)) \
	--env-file deploy/.env --file deploy/docker-compose.yml
DOWN = $(COMPOSE) --profile demo --profile observability down --remove-orphans
NOT_STARTED = 'The containers did not start: see the messages above. If an address is in use, set VITRINA_PUBLISH, POSTGRES_PUBLISH or ELASTICSEARCH_PUBLISH in deploy/.env to another one, for example 127.0.0.1:18080, and run "make up" again.'
RUNNERS ?= 1
PROFILE ?=
ARGS ?=

help: ## Show this help
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: env ## Start the containers; RUNNERS=3 starts three runners, PROFILE=observability adds Prometheus and Grafana
	$(COMPOSE) $(if $(PROFILE),--profile $(PROFILE)) up --build --detach --scale etl_runner=$(RUNNERS) || { echo $(NOT_STARTED) >&2; exit 1; }
	@./deploy/await-stand.sh $(COMPOSE)

demo: ## Start the containers, load the sample cinema and build its marts; without containers, or with ARGS=--once: npm run demo
ifneq ($(and $(ENGINE),$(if $(ARGS),,yes)),)
	$(MAKE) up
	$(COMPOSE) --profile demo run --rm etl_demo
else
	npm run demo -- $(ARGS)
endif

# Twice with ARGS: podman-compose does not know how many runners were started, and cannot remove a volume while one of
# them is running.
down: existing ## Stop and remove the containers, keep the data; ARGS=--volumes removes the data too
	$(DOWN)
	$(if $(ARGS),$(DOWN) $(ARGS))

migrate-db: existing ## Upgrade the meta store, set the passwords of the logins and renew their grants
	$(COMPOSE) run --rm etl_migrate

logs: existing ## Follow the logs; ARGS=etl_runner for one service
	$(COMPOSE) logs --follow --tail=100 $(ARGS)

test: ## Run every test
	npm test

check: ## Check types, format and lint, room rules, unused code, generated files, wording
	npm run check

build: ## Compile to dist/
	npm run build

# Creates deploy/.env with random secrets on first use.
env:
	@./deploy/create-env.sh

existing:
	@test -e deploy/.env || { echo 'deploy/.env does not exist. "make up" creates it and starts the containers.' >&2; exit 1; }
