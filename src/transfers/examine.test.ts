import { expect, it, onTestFinished } from 'vitest'
import { aDatabase } from '../../tests/support/database.js'
import type { Pipeline } from '../model/pipeline.js'
import { Session } from '../postgres/session.js'
import { describeQuery } from '../sources/postgres/describe.js'
import { examine } from './examine.js'

const pipeline = { mode: 'full', targetTable: 'analytics.mart', tasks: [] } as unknown as Pipeline

it('rejects a plan with a table outside the allowed schemas, even if the guard has accepted the query', async () => {
  const { url } = await aDatabase({ cinema: true })
  const session = await Session.open(url, 'vitrina-test', new AbortController().signal)
  onTestFinished(() => session.close())
  const check = async (query: string) =>
    examine(session, pipeline, {
      query,
      columns: await describeQuery(session, query),
      martKey: ['id'],
      sourceSchemas: ['content', 'ugc'],
    })
  expect((await check('SELECT id FROM content.genre')).facts.relations).toEqual(['"content"."genre"'])
  await session.run('CREATE VIEW content.changed_meanwhile AS SELECT id FROM auth.users')
  for (const query of ['SELECT id FROM auth.users', 'SELECT id FROM content.changed_meanwhile'])
    await expect(check(query)).rejects.toMatchObject({
      code: 'SOURCE_REFUSED',
      message: 'The query reads "auth"."users"; only the schemas content, ugc may be read.',
    })
})
