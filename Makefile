# The operator's words. The developer's are npm scripts: demo, test, check, build.
# up, down, migrate-db and logs need Docker with the compose plugin; the others need Node 20.19 or newer and npm.

.DEFAULT_GOAL := help
.PHONY: help up down migrate-db logs demo test check build

COMPOSE = docker compose --env-file deploy/.env --file deploy/docker-compose.yml $(if $(PROFILE),--profile $(PROFILE))
RUNNERS ?= 1
PROFILE ?=
ARGS ?=

help: ## Show these lines
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: deploy/.env ## Start the stand in containers; RUNNERS=3 starts three runners, PROFILE=observability Prometheus and Grafana too
	$(COMPOSE) up --build --detach --scale etl_runner=$(RUNNERS)

down: deploy/.env ## Stop the stand and remove its containers; ARGS=--volumes removes the data too
	$(COMPOSE) down --remove-orphans $(ARGS)

migrate-db: deploy/.env ## Bring the stand's meta store up to date and renew the grants
	$(COMPOSE) run --rm etl_migrate

logs: deploy/.env ## Follow the logs of the stand; ARGS=etl_runner shows one service
	$(COMPOSE) logs --follow --tail=100 $(ARGS)

demo: ## Build the demo marts on an embedded PostgreSQL; ARGS=--once verifies them and stops
	npm run demo -- $(ARGS)

test: ## Run every test
	npm test

check: ## Types, format and lint, room rules, unused code, generated files
	npm run check

build: ## Compile to dist/
	npm run build

deploy/.env:
	@echo 'There is no deploy/.env yet. Run: cp deploy/.env.sample deploy/.env'
	@echo 'Then fill in POSTGRES_PASSWORD and VITRINA_API_TOKEN.'
	@exit 1
