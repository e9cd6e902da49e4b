import type { Time } from '../edge/time.ts'
import { listen } from '../edge/web-server.ts'
import type { Report } from './refusals.ts'
import { referenceServer } from './server.ts'
import { openStore, type Store } from './store/store.ts'

/** Where the service keeps its file and listens. */
export interface ReferenceOptions {
  /** Made, with its folder, when missing; `:memory:` for one that is not kept. Several processes may share it. */
  readonly file: string
  readonly host: string
  /** 0 for one the system picks. */
  readonly port: number
  readonly time: Time
  /** Told of answers 500 and 503. */
  readonly report?: Report
}

/** A service that is listening. */
export interface Reference {
  /** `http://host:port`, without a trailing slash. */
  readonly url: string
  /** To make keys and set visibility; closed by `stop`. */
  readonly store: Store
  /** Complete when it returns: no connection and no file is left open. */
  stop(): Promise<void>
}

/**
 * Starts the reference service.
 *
 * @throws what `openStore` throws; Fault `address-unusable` when it cannot listen there
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
