// How the client looks and behaves in this browser.

import { LANGUAGES, t } from '../../text/words.js'
import { choices } from './choices.js'
import { part } from './parts.js'
import { chosenLanguage, enterSends, theme } from '../browser-settings.js'

export const appearance = () => part(t('settings.appearance'), t('settings.appearanceIntro'),
  choices('theme', t('settings.theme'), [
    { value: /** @type {const} */ ('system'), label: t('settings.themeSystem') },
    { value: /** @type {const} */ ('light'), label: t('settings.themeLight') },
    { value: /** @type {const} */ ('dark'), label: t('settings.themeDark') },
  ], () => theme.value, value => { theme.value = value }),
  choices('language', t('settings.language'), [
    { value: '', label: t('settings.languageBrowser') },
    ...Object.entries(LANGUAGES).map(([value, { name }]) => ({ value, label: name })),
  ], () => chosenLanguage.value, value => { chosenLanguage.value = value }),
  choices('enter', t('settings.enter'), [
    { value: 'sends', label: t('settings.enterSends') },
    { value: 'breaks', label: t('settings.enterBreaks') },
  ], () => enterSends.value ? 'sends' : 'breaks', value => { enterSends.value = value === 'sends' }, t('settings.enterHint')))
