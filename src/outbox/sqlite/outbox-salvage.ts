import { Salvage } from '../../salvage/salvage.ts'
import { rowDigest } from './tables/digest.ts'
import { outboxSchema } from './tables/schema.ts'

/** The salvage of this version's tables. */
export const outboxSalvage = new Salvage({ schema: outboxSchema, rowDigest })
