import { Salvage } from '../../salvage/salvage.ts'
import { rowDigest } from '../rows/digest.ts'
import { packRuns, unpackRun } from '../rows/run-form.ts'
import { outboxSchema } from './tables/schema.ts'

/** The salvage of this version's tables. */
export const outboxSalvage = new Salvage({
  schema: outboxSchema,
  rowDigest,
  runForm: { pack: packRuns, unpack: unpackRun },
})
