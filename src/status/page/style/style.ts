import { barsStyle } from './bars.ts'
import { base } from './base.ts'
import { hoursStyle } from './hours.ts'
import { listsStyle } from './lists.ts'
import { widgetsStyle } from './widgets.ts'

/** The page's style: constant, so that its hash can be in the Content-Security-Policy. */
export const style = [base, widgetsStyle, hoursStyle, barsStyle, listsStyle].join('\n')
