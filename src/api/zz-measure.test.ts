import { expect, it } from 'vitest'
import { anApi } from '../../tests/support/api.js'
import { aDatabase } from '../../tests/support/database.js'
import { runTotals } from '../store/totals.js'
import { Database } from '../store/database.js'
it('measures', async () => {
  const d = await aDatabase()
  await d.query(`INSERT INTO etl.etl_pipelines (name, target_table) SELECT 'p'||n, 'analytics.t' FROM generate_series(1,1000) n`)
  await d.query(`INSERT INTO etl.etl_runs (pipeline_id, status, requested_at, started_at, finished_at, rows_read)
    SELECT p.id, CASE WHEN n%10=0 THEN 'FAILED' ELSE 'SUCCESS' END, now() - n*interval '1 min', now() - n*interval '1 min', now() - n*interval '1 min' + interval '3 s', 100 FROM etl.etl_pipelines p, generate_series(1,1000) n`)
  await d.query('VACUUM ANALYZE etl.etl_runs')
  const db = new Database(d.url, {name:'test',size:1})
  for (let i=0;i<3;i++) { const t = performance.now(); await runTotals(db,[0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400]); console.log('totals', Math.round(performance.now()-t)) }
  for (let i=0;i<2;i++) { const t = performance.now(); await db.query('select pipeline_id, status, count(*), sum(rows_read) from etl.etl_runs group by 1,2'); console.log('bare', Math.round(performance.now()-t)) }
  await db.close()
  const api = anApi(d.loginUrl('meta'))
  for (const url of ['/metrics','/metrics','/metrics']) { const t = performance.now(); const a = await api.get(url); console.log(url, a.statusCode, a.body.length, Math.round(performance.now()-t)) }
  await api.close()
  expect(1).toBe(1)
}, 300000)
