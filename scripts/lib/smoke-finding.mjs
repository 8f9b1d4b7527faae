const MARKS = { passed: '✓', failed: '✗', skipped: '–' }

/** What a check found. Thrown, it ends the check at once. */
export class Finding {
  constructor(outcome, sentence, hint = null) {
    this.outcome = outcome
    this.sentence = sentence
    this.hint = hint
  }

  static passed(sentence) {
    return new Finding('passed', sentence)
  }

  static failed(sentence, hint) {
    return new Finding('failed', sentence, hint)
  }

  static skipped(sentence) {
    return new Finding('skipped', sentence)
  }

  get mark() {
    return MARKS[this.outcome]
  }
}
