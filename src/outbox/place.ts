import type { PostgresAddress } from '../model/postgres-address.ts'

/** Where an outbox is. */
export type OutboxPlace =
  /** In a file of the data folder. */
  | { readonly kind: 'folder'; readonly folder: string }
  /** In a PostgreSQL database; its address holds a secret. */
  | { readonly kind: 'postgres'; readonly address: PostgresAddress }
