import { describe, expect, it } from 'vitest'
import { proseOf } from '../../scripts/lib/prose.mjs'
import { wordsIn } from '../../scripts/lib/words.mjs'

const DIALECT = [
  ['Nobody is here to answer.', ['Nobody', 'here to answer']],
  ['The run tells why it was held back.', ['tells']],
  ['What a runner said is kept.', ['said']],
  ['The checkpoint speaks of another table.', ['speaks of']],
  ['only deeds of those whose name holds this', ['deeds', 'name holds this']],
  ['A run that somebody asked for.', ['somebody', 'asked for']],
  ['Mend the table, and the run is mended.', ['Mend', 'mended']],
  ['Everything is read anew.', ['anew']],
  ['It takes longer than a look at it may.', ['a look']],
  ['The file stands beside the others.', ['stands beside']],
  ['The run goes\non from its checkpoint.', ['goes on']],
  ['A view is no table.', ['is no']],
  ['The default, where there is none.', ['there is none']],
  ['Take the block away.', ['Take the block away']],
  ['NO_COLOR is heeded.', ['heeded']],
  ['Rows that were there already, just so.', ['just so']],
  ['It is kept for ever.', ['for ever']],
  ['validate says whether a run would start', ['a run would start']],
] as const

const PLAIN = [
  'There is no run to pause.',
  'The row is no longer in the source, and batches are no larger than before.',
  'Look up the key; a value that looks like a date is a date.',
  'What the abbreviation stands for is indeed documented.',
  'The intolerable, the foretold and the untold are other words.',
]

describe('R7.7 the check of words', () => {
  it.each(DIALECT)('finds the dialect in "%s"', (sentence, words) => {
    expect(wordsIn(sentence).map(({ word }) => word)).toEqual(words)
  })

  it.each(PLAIN)('accepts "%s"', (sentence) => {
    expect(wordsIn(sentence)).toEqual([])
  })

  it('names the line and a replacement', () => {
    expect(wordsIn('One.\nTwo.\nRead it anew.')).toEqual([
      { line: 3, word: 'anew', instead: 'again, from scratch' },
    ])
  })

  it('accepts a line that is marked', () => {
    expect(wordsIn("const account = 'the user nobody' // words:allow")).toEqual([])
  })
})

/** The words that are found in a file of this name. */
function foundIn(file: string, content: string): string[] {
  return wordsIn(proseOf(file, content)).map(({ line, word }) => `${line} ${word}`)
}

describe('R7.7 the check of words reads', () => {
  it('prose, comments and diagrams of a document, but not code, links and printed output', () => {
    const page = [
      'It is told, see [here](what-nobody-knows.md) and `etl.tell_of_run` or `tell`.',
      '```text\nNobody knows.\n```',
      '```json\n{"detail": "Nobody knows."}\n```',
      '```bash\nls   # nobody types this\n```',
      '```\napi ── told ──► runner\n```',
    ].join('\n')
    expect(foundIn('page.md', page)).toEqual(['1 told', '9 nobody', '12 told'])
  })

  it('comments, strings, templates and JSX text of code, but not its names', () => {
    const code = [
      "import { deed } from './deed.js'",
      '/** A deed that',
      ' * goes',
      ' * on. */',
      "const told = { kind: 'deed', text: 'Nobody is here.' } // anew",
      `const said = \`was told \${told} by \${deed} anew\``,
      'const element = <p title="for ever">Mend it {told}</p>',
    ].join('\n')
    expect(foundIn('page.tsx', code)).toEqual([
      '2 deed',
      '3 goes on',
      '5 Nobody',
      '5 anew',
      '6 told',
      '6 anew',
      '7 for ever',
      '7 Mend',
    ])
  })

  it('comments and strings of Python', () => {
    expect(foundIn('tasks.py', 'told = "anew"  # nobody\n"""A deed."""')).toEqual([
      '1 anew',
      '1 nobody',
      '2 deed',
    ])
  })

  it('the whole text of other files', () => {
    expect(foundIn('Makefile', 'up: ## Start it anew')).toEqual(['1 anew'])
  })
})
