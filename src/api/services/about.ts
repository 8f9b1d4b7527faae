import { hostname } from 'node:os'
import type { SettingInForce } from '../../config/settings-in-force.js'
import type { Catalog } from '../../ports/catalog.js'
import type { AboutWire } from '../schemas/about.js'

/** Information about this server for its administrator. */
export class AboutService {
  readonly #catalog: Catalog
  readonly #version: string
  readonly settings: readonly SettingInForce[]

  constructor(catalog: Catalog, version: string, settings: readonly SettingInForce[]) {
    this.#catalog = catalog
    this.#version = version
    this.settings = settings
  }

  async about(): Promise<AboutWire> {
    const { version, migrations } = await this.#catalog.describeStore()
    const uptime = process.uptime()
    return {
      version: this.#version,
      node: process.versions.node,
      platform: `${process.platform} ${process.arch}`,
      host: hostname(),
      pid: process.pid,
      started_at: new Date(Date.now() - uptime * 1000).toISOString(),
      uptime_seconds: Math.round(uptime),
      database: {
        version,
        migrations: migrations.map(({ name, appliedAt }) => ({ name, applied_at: appliedAt })),
      },
    }
  }
}
