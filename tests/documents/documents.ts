/** Every document with commands to follow, by what they require. */
export const DOCUMENTS = {
  emptyDatabase: ['README.md', 'docs/guides/first-mart.md', 'docs/guides/new-sink.md'],
  elasticsearch: 'docs/guides/elasticsearch.md',
  clickhouse: 'docs/guides/clickhouse.md',
  s3: 'docs/guides/s3.md',
  /** The marts of the demo, and no server yet. */
  marts: ['SECURITY.md', 'docs/guides/airflow.md', 'docs/guides/notifications.md', 'docs/guides/order.md'],
  demo: [
    'docs/demo.md',
    'docs/API.md',
    'docs/guides/freshness.md',
    'docs/guides/data-tab.md',
    'docs/guides/checks.md',
    'docs/guides/incremental-without-loss.md',
    'docs/guides/operating.md',
    'docs/guides/parallel-runs.md',
    'docs/guides/pipelines-as-files.md',
    'docs/guides/python-tasks.md',
    'docs/guides/scaling.md',
    'docs/guides/spark.md',
    'docs/guides/scrolling-showcase.md',
    'docs/guides/zero-downtime-refresh.md',
  ],
} as const

/** Those that are there in Russian too. */
export const TRANSLATED = ['README', 'docs/demo', 'docs/guides/first-mart'] as const
