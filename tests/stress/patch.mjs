import { register } from 'node:module'

// Loaded with --import into a runner: the built program stays as it is, and only this process runs the patched text.
register('./patch-hooks.mjs', import.meta.url, { data: JSON.parse(process.env.VITRINA_TEST_PATCHES ?? '[]') })
