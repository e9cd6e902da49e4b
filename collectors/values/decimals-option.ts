import { address, z } from 'tidegauge'

/** Decimals of a value: a number, `true` for those that its own contract says, or `{ address }` for those of a token. */
export const decimalsOption = z.union([z.int().min(0).max(255), z.literal(true), z.strictObject({ address })], {
  error: 'must be a whole number from 0 to 255, true (the contract’s own), or { address: "0x…" } (a token’s)',
})

/** Decimals of a token that tells none; they never replace those that a token tells. */
export const tokenDecimals = z
  .int({ error: 'must be a whole number from 0 to 255' })
  .min(0)
  .max(255)
  .optional()
  .describe('of a token that has no decimals(): one that has them is asked')
