import { Salvage } from './salvage/salvage.ts'
import { outboxSchema } from './schema.ts'
import { rowDigest } from './tables/digest.ts'

/** The salvage of this version's tables. */
export const outboxSalvage = new Salvage({ schema: outboxSchema, rowDigest })
