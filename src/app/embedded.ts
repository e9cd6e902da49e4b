import { existsSync, linkSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Time } from '../edge/time.ts'
import { startReference } from '../reference/server.ts'

/** The reference service in this process. */
export interface EmbeddedService {
  /** On loopback, at a port the system picked. */
  readonly url: string
  /** The key that owns the protocols; a secret. */
  readonly key: string
  /** Stops the service; resolves when it has stopped. */
  stop(): Promise<void>
}

/**
 * Starts the reference service in this process, with the data folder's `service.db`. Its key is kept in `service.key`,
 * readable only by the owner, because the protocols belong to it.
 */
export async function startEmbedded(dataFolder: string, time: Time): Promise<EmbeddedService> {
  const { url, store, stop } = await startReference({
    file: join(dataFolder, 'service.db'),
    host: '127.0.0.1',
    port: 0,
    time,
  })
  const keyFile = join(dataFolder, 'service.key')
  try {
    const key = readKey(keyFile) ?? keepKey(keyFile, store.keys.create('embedded'))
    return { url, key, stop }
  } catch (error) {
    // A server that is not stopped keeps the process alive.
    await stop()
    throw error
  }
}

function readKey(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, 'utf8').trim() || undefined : undefined
}

/** Writes the key file atomically, also in a power cut; of two processes that start at once, the first wins. */
function keepKey(file: string, key: string): string {
  const temporaryFile = `${file}.${process.pid}`
  writeFileSync(temporaryFile, key, { mode: 0o600, flush: true })
  try {
    if (existsSync(file) && readKey(file) === undefined) unlinkSync(file)
    linkSync(temporaryFile, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(temporaryFile)
  }
  return readKey(file) ?? key
}
