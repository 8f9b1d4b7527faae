export function proseOf(file: string, content: string): string
