// Schemas of what-authorized and who-authorized, the older forms of resource and subject search. Unknown members are
// ignored, as in AuthZEN requests.
import { z } from 'zod'
import { actionSearchAnswer, resourceSearchRequest, searchAnswer, subjectSearchRequest } from './schema.ts'

const { subject, action, context } = resourceSearchRequest.shape
const resourceType = resourceSearchRequest.shape.resource
const { resource } = subjectSearchRequest.shape

/** Which resources of each type a subject may act on. */
export const whatAuthorizedRequest = z
  .object({
    subject,
    evaluations: z.array(z.object({ action, resource: resourceType }).meta({ id: 'WhatAuthorizedItem' })).min(1),
    context,
  })
  .meta({ id: 'WhatAuthorizedRequest' })
const whoAuthorizedItem = z.object({ action, resource }).meta({ id: 'WhoAuthorizedItem' })
/** Which subjects, of any type, may act on each resource. */
export const whoAuthorizedRequest = z
  .object({ evaluations: z.array(whoAuthorizedItem).min(1), context })
  .meta({ id: 'WhoAuthorizedRequest' })

/** The body of a what-authorized request. */
export type WhatAuthorizedRequest = z.infer<typeof whatAuthorizedRequest>
/** The body of a who-authorized request. */
export type WhoAuthorizedRequest = z.infer<typeof whoAuthorizedRequest>

const found = searchAnswer.shape.results.element
const foundAction = actionSearchAnswer.shape.results.element
const searchContext = searchAnswer.shape.context
const authorizedResource = z.object({ action: foundAction, resource: found }).meta({ id: 'AuthorizedResource' })
const authorizedSubjects = z
  .object({ action: foundAction, resource: found, subjects: z.array(found) })
  .meta({ id: 'AuthorizedSubjects' })

/** One entry per resource, in the order of the evaluations. */
export const whatAuthorizedAnswer = z
  .object({ context: searchContext, evaluations: z.array(authorizedResource) })
  .meta({ id: 'WhatAuthorizedAnswer' })
/** One entry per evaluation, with all of its subjects. */
export const whoAuthorizedAnswer = z
  .object({ context: searchContext, evaluations: z.array(authorizedSubjects) })
  .meta({ id: 'WhoAuthorizedAnswer' })

/** The body of a what-authorized response. */
export type WhatAuthorizedAnswer = z.infer<typeof whatAuthorizedAnswer>
/** The body of a who-authorized response. */
export type WhoAuthorizedAnswer = z.infer<typeof whoAuthorizedAnswer>
