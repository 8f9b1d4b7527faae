/**
 * Words and phrases of the dialect in which the first texts were written, each with plain replacements. A space matches
 * any white space, because phrases cross the ends of lines. Words that are also plain English are matched only in the
 * sense of the dialect: "there is no run" passes, "a view is no table" does not.
 */
const REPLACEMENTS = {
  'tells?|telling|told': 'report, log, say, name',
  said: 'reported, logged, printed',
  'sp(?:eaks?|oke) of': 'refers to, names',
  'deeds?': 'action',
  'wish(?:es|ed)?': 'request',
  'asked for': 'requested',
  'mend(?:s|ed|ing)?': 'fix, repair',
  anew: 'again, from scratch',
  'lookers?': 'inspector',
  '(?:a|the|one|each|every|another|no|first|last) look(?!-| up| like)': 'check, inspection',
  'somebody|nobody|whoever|anybody': 'a user, an operator, another session, no runner',
  '(?:stands|stood|standing) (?:in|beside|on|at|behind|before|between|around|there|alone)': 'is, is next to',
  '(?:go|goes|going|gone|went) on': 'continue, resume',
  '(?<!there )(?:is|are|was|were) no(?! (?:longer|more|less|fewer|later|earlier|greater|larger|slower|faster))':
    'is not a',
  'there (?:is|are|was|were) none': 'none found',
  '(?:lay|lays|laid|lie|lies|lying) beside': 'compare, is next to',
  '(?:takes?|taken|taking|took) (?:\\w+ ){0,2}away': 'remove, uninstall',
  'heed(?:s|ed|ing)?': 'respected',
  'just so(?! that)': 'unchanged',
  'for ever': 'permanently',
  'a run would start': 'Valid',
  'which rows there are': 'Row filters',
  'path of the column': 'Column lineage',
  'used as it is meant': 'Invalid command usage.',
  'another text now': 'has been modified',
  'here to answer': 'Cannot prompt',
  'could be closed with': 'cannot be combined with',
  'nothing to change was named': 'No changes given.',
  'who lives, and who holds what': 'List runners and the pipelines they hold.',
  'name holds this': 'name contains this',
  'it means nothing after': 'invalidates',
  'in spite of waiting': 'after 60 s',
  'not foreseen': 'Unexpected error.',
  'whatever its case': 'case-insensitive',
  'no row is held': 'No quarantined rows.',
  'counts and ends agree': 'Row counts and key ranges match',
}

const RULES = Object.entries(REPLACEMENTS).map(([words, instead]) => ({
  pattern: new RegExp(`(?<![\\w-])(?:${words.replaceAll(' ', '\\s+')})(?![\\w-])`, 'gi'),
  instead,
}))

/** For the line of a text that has to quote such a word, such as the name of an account. */
const ALLOWED = 'words:allow'

/** Every place where a text uses one of the words, in order. */
export function wordsIn(text) {
  const lines = text.split('\n')
  return RULES.flatMap(({ pattern, instead }) =>
    [...text.matchAll(pattern)].map(({ 0: word, index }) => ({ word, index, instead })),
  )
    .sort((one, other) => one.index - other.index)
    .map(({ word, index, instead }) => {
      const line = text.slice(0, index).split('\n').length
      return { line, word: word.replace(/\s+/g, ' '), instead }
    })
    .filter(({ line }) => !lines[line - 1].includes(ALLOWED))
}
