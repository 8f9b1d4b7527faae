import type { Gone } from './host.js'

/** What a host of TypeScript functions reports besides its answers. */
export type HostEvent =
  | { readonly op: 'output'; readonly transform: string | null; readonly text: string }
  | { readonly op: 'dropped'; readonly lines: number }
  | { readonly op: 'working'; readonly transform: string }
  | { readonly op: 'gone'; readonly gone: Gone }
