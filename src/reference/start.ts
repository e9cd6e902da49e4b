import type { Time } from '../edge/time.ts'
import { listen } from '../edge/web-server.ts'
import type { Report } from './refusals.ts'
import { referenceServer } from './server.ts'
import { openStore, type Store } from './store/store.ts'

/** File and address of the service. */
export interface ReferenceOptions {
  /** Created if missing, with its folder; `:memory:` for a temporary one. Several processes may share it. */
  readonly file: string
  readonly host: string
  /** 0: the system picks one. */
  readonly port: number
  readonly time: Time
  /** Called with errors of answers 500 and 503. */
  readonly report?: Report
}

/** A listening service. */
export interface Reference {
  /** `http://host:port`, without a trailing slash. */
  readonly url: string
  /** To create keys and set visibility; closed by `stop`. */
  readonly store: Store
  /** Stops the service; resolves when every connection and the file are closed. */
  stop(): Promise<void>
}

/**
 * Starts the reference service.
 *
 * @throws errors of `openStore`; Fault `address-unusable` when it cannot listen there
 */
export async function startReference({ file, host, port, time, report }: ReferenceOptions): Promise<Reference> {
  const store = openStore(file, time)
  try {
    const server = await referenceServer(store, time, report ?? (() => {}))
    const { url, stop } = await listen(server, host, port)
    return {
      url,
      store,
      async stop() {
        await stop()
        store.close()
      },
    }
  } catch (error) {
    store.close()
    throw error
  }
}
