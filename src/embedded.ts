import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startReference } from './reference/start.ts'
import type { Time } from './time.ts'

/** The reference service inside this process. */
export interface EmbeddedService {
  /** On loopback, a port the system picked. */
  readonly url: string
  readonly key: string
  /** Complete when it returns. */
  stop(): Promise<void>
}

/**
 * Starts the reference service inside this process on the data folder's `service.db`. Its key is kept in
 * `service.key`, readable by the owner alone, because the protocols belong to it.
 */
export async function startEmbedded(dataFolder: string, time: Time): Promise<EmbeddedService> {
  const { url, store, stop } = await startReference({
    file: join(dataFolder, 'service.db'),
    host: '127.0.0.1',
    port: 0,
    time,
  })
  const keyFile = join(dataFolder, 'service.key')
  if (!existsSync(keyFile)) writeFileSync(keyFile, store.keys.create('embedded'), { mode: 0o600 })
  return { url, key: readFileSync(keyFile, 'utf8').trim(), stop }
}
