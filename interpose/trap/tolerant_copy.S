// Reads the program's words where the kernel would have said EFAULT: a fault at the load continues at the label below
// (signal_chain.cpp).
//
//   long pincheck_trap_copy(uint64_t* to /* rdi */, const uint64_t* from /* rsi */, size_t words /* rdx */)
//   1: copied; 0: the memory cannot be read

        .text
        .globl  pincheck_trap_copy
        .hidden pincheck_trap_copy
        .type   pincheck_trap_copy, @function
        .globl  pincheck_trap_copy_load
        .hidden pincheck_trap_copy_load
        .globl  pincheck_trap_copy_failed
        .hidden pincheck_trap_copy_failed
        .p2align 4
pincheck_trap_copy:
        .cfi_startproc
        endbr64
        xor     %ecx, %ecx
.Lnext:
        cmp     %rdx, %rcx
        jae     .Ldone
pincheck_trap_copy_load:
        mov     (%rsi,%rcx,8), %rax
        mov     %rax, (%rdi,%rcx,8)
        inc     %rcx
        jmp     .Lnext
.Ldone:
        mov     $1, %eax
        ret
pincheck_trap_copy_failed:
        xor     %eax, %eax
        ret
        .cfi_endproc
        .size   pincheck_trap_copy, .-pincheck_trap_copy
        .section .note.GNU-stack, "", @progbits
