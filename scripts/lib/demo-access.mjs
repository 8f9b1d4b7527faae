/** The tokens of a team, and their actions, named as the API names them. */
export async function addAccess(client) {
  await client.query(
    `INSERT INTO etl.etl_tokens (name, role, hash, created_by, created_at, expires_at, last_used_at, last_used_from, revoked_at)
     SELECT name, role, sha256(name::bytea), 'administrator', now() - made::interval, now() + ends::interval,
            now() - used::interval, address, now() - revoked::interval
       FROM (VALUES ('airflow', 'operator', '40 days', '61 days', '2 minutes', '10.20.0.14', NULL),
                    ('grafana', 'viewer', '90 days', NULL, '20 seconds', '10.20.0.31', NULL),
                    ('ci-apply', 'admin', '84 days', '6 days', NULL, NULL, NULL),
                    ('laptop of Ann', 'operator', '12 days', '18 days', '3 days', '192.168.7.2', '2 days'))
            AS t (name, role, made, ends, used, address, revoked)`,
  )
  await client.query(
    `INSERT INTO etl.etl_audit (at, actor, action, target_kind, target_id, target_name, diff, request_id)
     SELECT now() - ago::interval, actor, action, 'pipeline', p.id, p.name, diff::jsonb, gen_random_uuid()
       FROM (VALUES ('3 seconds', 'ci-apply#5b1f20c4', 'pipeline.change', '{"batch_size": {"old": 1000, "new": 5000}}'),
                    ('2 seconds', 'airflow#7c9e6679', 'pipeline.pause', '{}'),
                    ('1 second', 'ci-apply#5b1f20c4', 'pipeline.change',
                     '{"schedule_interval": {"old": "1h", "new": "15m"}, "schedule_timezone": {"old": null, "new": "Europe/Moscow"}}'))
            AS t (ago, actor, action, diff), etl.etl_pipelines p WHERE p.name = 'film_dim_full' ORDER BY ago DESC`,
  )
}
