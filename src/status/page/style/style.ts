import { base } from './base.ts'
import { hoursStyle } from './hours.ts'
import { listsStyle } from './lists.ts'
import { widgetsStyle } from './widgets.ts'

/** The page's whole style: constant, so that its hash can stand in the Content-Security-Policy. */
export const style = [base, widgetsStyle, hoursStyle, listsStyle].join('\n')
