import { textsOf } from '../../collectors/advice-texts.ts'
import { faultGuide } from '../../docs/fault-guide.ts'
import { sources } from '../../tidy/sources.ts'

/** Options that decide what a value is, or which hours have one; all others decide where values go, and how fast. */
const deciding = [
  ...['chains', 'rpc', 'agree', 'multicall', 'settle', 'prices', 'tokenPrices', 'lists', 'sources', 'tokens', 'price'],
  ...['since', 'at', 'deadline', 'catchUp', 'keep', 'history', 'hoursBefore', 'numbers', 'now', 'time', 'fixed'],
  ...['decimals', 'unit', 'atLeast', 'id'],
]
const names = deciding.join('|')

const instructs = /\b(write|add|give|remove|put|correct|set|take|change|leave|longer|name|compare|check|takes over)\b/
/** An option as a text names it: as it is written, in its place, or behind a word that no other noun has before it. */
const option = new RegExp(
  `(?:(?:\\b(?:${names.replace('|id', '')})|\`…s):(?! (?:write|this|the)\\b)|…s:|\\.(?:agree|multicall|keep|catchUp|deadline)\\b|\`(?:${names})\`|\\{hour\\}|\\b(?:set|longer|leave|ask) (?:${names})\\b)`,
)

/** The texts of the program that say which option to write, as they stand in the sources. */
export const programAdvices = () =>
  textsOf(sources, part => {
    const said = part.replaceAll(/\$\{[^}]*\}/g, '…')
    // A text of several lines is SQL, or a page.
    return !part.includes('\n') && instructs.test(said) && option.test(said)
  })

/** The codes of errors.md whose cure names an option. */
export const curesWithOption = () =>
  Object.entries(faultGuide).flatMap(([code, { cure }]) => {
    const words = [...cure.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span)
    return words.some(span => new RegExp(`^(?:${names})\\b`).test(span)) ? [`errors.md: ${code}`] : []
  })
