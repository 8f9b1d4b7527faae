/** An example file that uses the tables of the demo. */
export const EXAMPLE = `apiVersion: vitrina/v1
name: film_titles
description: Titles of all films
source_query: |
  SELECT id, title, modified
    FROM content.film_work
target_table: analytics.film_titles
key_columns: [id]
schedule_interval: 15m
`
