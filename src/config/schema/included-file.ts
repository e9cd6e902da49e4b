import { z } from 'zod'
import { prices } from './prices.ts'
import { protocols } from './protocols.ts'

/** A file that the operator's file includes. */
export const includedFile = z
  .strictObject({ prices, protocols: protocols.optional() })
  .meta({ title: 'Tidegauge configuration, an included file' })

/** A parsed file that was included. */
export type ParsedIncludedFile = z.output<typeof includedFile>
