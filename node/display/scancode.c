#include "display/scancode.h"

#include <linux/input-event-codes.h>
#include <stddef.h>

/* Beyond the 88 keys of the first PC keyboards, where both codes are the same. */
static const struct {
    uint16_t key;
    uint8_t scancode;
} others[] = {
    {KEY_KPENTER, 0x9c},    {KEY_RIGHTCTRL, 0x9d}, {KEY_KPSLASH, 0xb5}, {KEY_SYSRQ, 0x54},
    {KEY_RIGHTALT, 0xb8},   {KEY_HOME, 0xc7},      {KEY_UP, 0xc8},      {KEY_PAGEUP, 0xc9},
    {KEY_LEFT, 0xcb},       {KEY_RIGHT, 0xcd},     {KEY_END, 0xcf},     {KEY_DOWN, 0xd0},
    {KEY_PAGEDOWN, 0xd1},   {KEY_INSERT, 0xd2},    {KEY_DELETE, 0xd3},  {KEY_PAUSE, 0xc6},
    {KEY_LEFTMETA, 0xdb},   {KEY_RIGHTMETA, 0xdc}, {KEY_COMPOSE, 0xdd}, {KEY_MUTE, 0xa0},
    {KEY_VOLUMEDOWN, 0xae}, {KEY_VOLUMEUP, 0xb0},  {KEY_BACK, 0xea},    {KEY_FORWARD, 0xe9},
};

uint8_t scancode_of(uint16_t key)
{
    if ((key >= KEY_ESC && key <= KEY_KPDOT) || key == KEY_102ND || key == KEY_F11 || key == KEY_F12)
        return (uint8_t)key;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i].key == key)
            return others[i].scancode;
    return 0;
}
