import { describe, expect, it } from 'vitest'
import { onEveryRoute, rowTexts, type Stand } from '../support/stand.js'

/** Better matches than PostgreSQL's own for varchar, in every schema that a login would look into. */
async function shadow({ source, target }: Stand): Promise<void> {
  for (const database of new Set([source, target])) {
    for (const schema of ['public', 'vitrina_reader', 'vitrina_writer', 'postgres'])
      await database.query(`
        CREATE SCHEMA IF NOT EXISTS ${schema}; GRANT USAGE ON SCHEMA ${schema} TO PUBLIC;
        CREATE TABLE IF NOT EXISTS ${schema}.word_source (id int, word varchar(20));
        CREATE FUNCTION ${schema}.upper(varchar) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'shadow'::text $$;
        CREATE FUNCTION ${schema}.same(varchar, varchar) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT false';
        CREATE OPERATOR ${schema}.= (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = ${schema}.same);
        CREATE OPERATOR ${schema}.> (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = ${schema}.same);
        CREATE OPERATOR ${schema}.<= (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = ${schema}.same)`)
  }
}

describe('names', () => {
  onEveryRoute((stand) => {
    it('keep their meaning, whatever objects are created between two runs', async () => {
      await stand().source.query(`
        CREATE TABLE content.word_source (id int PRIMARY KEY, word varchar(20) NOT NULL UNIQUE);
        INSERT INTO content.word_source SELECT n, 'word ' || n FROM generate_series(1, 50) n`)
      const sourceQuery =
        "SELECT word, id, upper(word) AS loud, word = 'word 7'::varchar AS is_seven FROM content.word_source"
      const { id } = await stand().pipeline({
        sourceQuery,
        keyColumns: ['word'],
        deletes: 'sweep',
        batchSize: 7,
      })
      expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null, rows_inserted: 50 })
      const [{ target_table } = { target_table: '' }] = await stand().main.query<{ target_table: string }>(
        'SELECT target_table FROM etl.etl_pipelines WHERE id = $1',
        [id],
      )
      const before = await rowTexts(stand().target, `SELECT * FROM ${target_table}`)
      await shadow(stand())
      expect(await stand().run(id)).toMatchObject({
        status: 'SUCCESS',
        error: null,
        rows_unchanged: 50,
        rows_deleted: 0,
      })
      expect(await rowTexts(stand().target, `SELECT * FROM ${target_table}`)).toEqual(before)
      expect(before).toContain('("word 7",7,"WORD 7",t)')
    })

    it('of operators that come with an extension are not guessed: such a column is refused as a key', async () => {
      for (const database of new Set([stand().source, stand().target]))
        await database.query('CREATE EXTENSION IF NOT EXISTS citext SCHEMA content')
      await stand().source.query(`
        CREATE DOMAIN content.login AS content.citext;
        CREATE TABLE content.people (login content.login PRIMARY KEY, name text);
        INSERT INTO content.people VALUES ('Ann', 'a'), ('bob', 'b')`)
      const { id } = await stand().pipeline({
        sourceQuery: 'SELECT login, name FROM content.people',
        keyColumns: ['login'],
      })
      const refused = await stand().run(id)
      expect(refused).toMatchObject({ status: 'FAILED', error_code: 'VTR-2103', rows_read: 0 })
      expect(refused.error).toContain('the order of content.login is not built into PostgreSQL')
      await stand().set(id, 'source_query', 'SELECT login::text AS login, name FROM content.people')
      expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null, rows_inserted: 2 })
    })
  })
})
