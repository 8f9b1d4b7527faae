export interface Found {
  readonly line: number
  readonly word: string
  readonly instead: string
}

export function wordsIn(text: string): Found[]
