// What somebody may do with messages, so that nothing is offered that the server refuses.

/**
 * Whether one may react and pin there: that takes the right to post, and a channel in one's list, where archived ones are not.
 *
 * @param {Store} store
 * @param {string} channel
 */
export const mayTakePart = (store, channel) => Boolean(store.organisation.value?.permissions.can_post_messages && store.channel(channel))

/** Whether one may delete what others wrote there. Nobody may in a direct message. @param {Store} store @param {string} channel */
export const mayModerate = (store, channel) =>
  Boolean(store.organisation.value?.permissions.can_manage_channels && !store.channel(channel)?.is_direct)
