/** Signals that there may be work. Only a hint: polling finds what it misses. */
export interface Wakeups {
  start(wake: () => void): void
  stop(): Promise<void>
}
