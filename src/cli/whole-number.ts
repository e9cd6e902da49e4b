import { InvalidArgumentError } from 'commander'

/** Parses an option that is a whole number. @param most default: no limit */
export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return text => {
    const number = /^\d+$/.test(text) ? Number(text) : -1
    if (number >= least && number <= most) return number
    const to = most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`
    throw new InvalidArgumentError(`It must be a whole number from ${least}${to}.`)
  }
}
