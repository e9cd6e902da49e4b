// Parts of undici that are imported alone: the whole of it, with `fetch` and WebSocket, takes 15 MB more.

declare module 'undici/lib/dispatcher/pool.js' {
  const pool: typeof import('undici').Pool
  export default pool
}

declare module 'undici/lib/core/connect.js' {
  const build: typeof import('undici').buildConnector
  export default build
}

declare module 'undici/lib/api/api-request.js' {
  import type { Dispatcher } from 'undici'
  export default function request(
    this: Dispatcher,
    options: Dispatcher.RequestOptions,
  ): Promise<Dispatcher.ResponseData>
}
