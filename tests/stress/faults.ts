import type { Patch } from './patches.js'

/** A mistake that the protocol avoids, planted into runners to show that the stress test would find it. */
export interface Fault {
  readonly name: string
  readonly patches: readonly Patch[]
}

const READER = 'capture/change-reader.js'
const SNAPSHOT =
  'const [now] = await source.rows(source.connection.server.number < FLUSHING_VERSION ? NOW : NOW_FLUSHED);'

export const FAULTS: readonly Fault[] = [
  {
    name: 'entries are consumed although the snapshot does not see them',
    patches: [{ file: 'capture/snapshot.js', from: 'if (hidden < 0)', to: 'if (hidden < 1e9)' }],
  },
  {
    name: 'key queries ignore the old rows of the other tables',
    patches: [
      {
        file: 'transfers/changes/affected-scopes.js',
        from: `return images === 'old' ? old : changed;`,
        to: `return images === 'old' ? [] : changed;`,
      },
    ],
  },
  {
    name: 'the position is committed before the rows',
    patches: [
      {
        file: 'transfers/steps/changed.js',
        from: 'const done = await batches.run(this.name, async (id) => {',
        to: `await batches.run(this.name, async () => ({ change: NO_CHANGE, state: movedTo(batches.state, next), joins: isLive }));
        const done = await batches.run(this.name, async (id) => {`,
      },
    ],
  },
  {
    name: 'the slot is advanced before the log is written, and the check of the slot is off',
    patches: [
      {
        file: 'capture/capture-work.js',
        from: `if (batch.last !== null)\n            failpoint('capture.decoded');`,
        to: `await stream.acknowledge(batch.upto);\n        if (batch.last !== null)\n            failpoint('capture.decoded');`,
      },
      { file: 'capture/slot.js', from: 'if (slot.confirmed > log.upto)', to: 'if (slot.confirmed === log)' },
    ],
  },
  {
    name: 'deletes are ignored',
    patches: [
      {
        file: 'capture/images.js',
        from: `case 'delete':`,
        to: `case 'delete':\n            return [];\n        case 'never':`,
      },
    ],
  },
  {
    name: 'the old row of an update is ignored',
    patches: [
      {
        file: 'transfers/changes/captured-changes.js',
        from: 'if (entry.old !== null) {',
        to: `if (entry.old !== null && entry.op !== 'U') {`,
      },
    ],
  },
  {
    name: 'the log is read before the snapshot is taken',
    patches: [
      {
        file: READER,
        from: SNAPSHOT,
        // The wait only makes it more frequent.
        to: `const { head, ...read } = await this.#read({ ...open, lsn: NO_LSN, snapshot: '1:1:' });\n        await delay(40);\n        ${SNAPSHOT}`,
      },
      {
        file: READER,
        from: 'return { ...(await this.#readUpTo(wanted, source)), snapshot: parseSnapshot(now.snapshot) };',
        to: 'await this.#readUpTo(wanted, source);\n        return { head, ...read, snapshot: parseSnapshot(now.snapshot) };',
      },
      {
        file: READER,
        // Otherwise the structure would be read first, and with it the snapshot be taken.
        from: `await Promise.all([\n            this.#readNow(source, { last, tables }),\n            readStructure(source, before.publication, tables),\n        ]);`,
        to: '[await this.#readNow(source, { last, tables }), await readStructure(source, before.publication, tables)];',
      },
    ],
  },
  {
    name: 'the start of a commit record counts as its position',
    patches: [
      {
        file: 'capture/decoder.js',
        from: `input.skip(9);\n                return { tag: 'commit', end: input.uint64(), stamp: input.uint64() };`,
        to: `input.skip(1);\n                const start = input.uint64();\n                input.skip(8);\n                return { tag: 'commit', end: start, stamp: input.uint64() };`,
      },
    ],
  },
  {
    name: 'the structure of tables is not compared',
    patches: [
      {
        file: READER,
        from: 'if (last.fingerprint !== structure.fingerprint)',
        to: 'if (last.fingerprint === null)',
      },
    ],
  },
]
