/** Limits of this folder. Limits that other folders share are in model/limits.ts. */

/** Warnings of one push that are logged singly; all are kept. */
export const loggedWarningsMax = 10

/** Metrics whose verdict waits for the lock above which pushes stop; after a crash they are sent again. */
export const unrecordedMax = 5_000
