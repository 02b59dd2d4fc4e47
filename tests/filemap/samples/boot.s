    .section .text
    .globl _start
_start:
    mov $1, %rax
.L1:
    jmp .L1
helper:
    ret
    .macro push_all a
    push \a
    .endm
    .data
message:
    .ascii "hi"
